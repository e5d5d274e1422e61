import { z } from 'zod';
import { action, givenAction } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { callOf } from './replay/recorded-call.ts';
import { isNotHere } from './tools/not-here.ts';
import { TOOLBOX } from './tools/toolbox.ts';

const mcpArgs = z.object({
  name: z.string('must be the name of a tool').min(1, 'must be the name of a tool'),
  arguments: z.record(z.string(), z.unknown()).nullish(),
});

const WHOLE = 'is not taken: write puts a whole file in place. For a part of one send edit';
const writeArgs = z.object({
  path: z
    .string('must be the path of a file')
    .regex(/^\/[^\0]*$/, 'must be absolute, e.g. /workspace/notes.md'),
  content: z.string('must be the text of the file'),
  start: z.literal(0, WHOLE).nullish(),
  end: z.literal(-1, WHOLE).nullish(),
});

/**
 * An action of V0's form as the user's own: what the tool that makes it understands of its arguments, or why it does
 * not. Which tools of MCP servers there are shows when one is called.
 */
export function userAction(
  name: string,
  args: Record<string, unknown>,
): { ok: true; action: NewEvent } | { ok: false; problem: string } {
  if (name === 'call_tool_mcp') return mcpAction(args);
  if (name === 'write') return writeAction(args);
  if (isNotHere(name)) return { ok: true, action: givenAction(name, args) };
  const call = callOf(name, args, null);
  const tool = TOOLBOX.CodeActAgent.find((one) => one.name === call?.name);
  if (!call || !tool) return { ok: false, problem: `there is no tool here that makes the action ${name}` };
  const understood = tool.understand(call.input, '');
  return understood.ok ? { ok: true, action: { ...understood.action, source: 'user' } } : understood;
}

function writeAction(given: Record<string, unknown>): ReturnType<typeof userAction> {
  const parsed = writeArgs.safeParse(given);
  if (!parsed.success) return problemIn(parsed.error);
  const { path, content } = parsed.data;
  const asked = { path, content, start: 0, end: -1, thought: '', security_risk: -1 as const };
  return { ok: true, action: action('user', 'write', `Writing file: ${path}`, asked) };
}

function problemIn({ issues: [issue] }: z.ZodError): { ok: false; problem: string } {
  return { ok: false, problem: `${issue?.path.join('.')} ${issue?.message}` };
}

function mcpAction(given: Record<string, unknown>): ReturnType<typeof userAction> {
  const parsed = mcpArgs.safeParse(given);
  if (!parsed.success) return problemIn(parsed.error);
  const { name, arguments: args } = parsed.data;
  const asked = { name, arguments: args ?? {}, thought: '', security_risk: -1 as const };
  return { ok: true, action: action('user', 'call_tool_mcp', `Calling the tool ${name}`, asked) };
}
