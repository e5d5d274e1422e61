import { z } from 'zod';
import { action } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { callOf } from './replay/recorded-call.ts';
import { TOOLBOX } from './tools/toolbox.ts';

const mcpArgs = z.object({
  name: z.string('must be the name of a tool').min(1, 'must be the name of a tool'),
  arguments: z.record(z.string(), z.unknown()).nullish(),
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
  const call = callOf(name, args, null);
  const tool = TOOLBOX.CodeActAgent.find((one) => one.name === call?.name);
  if (!call || !tool) return { ok: false, problem: `there is no tool here that makes the action ${name}` };
  const understood = tool.understand(call.input, '');
  return understood.ok ? { ok: true, action: { ...understood.action, source: 'user' } } : understood;
}

function mcpAction(given: Record<string, unknown>): ReturnType<typeof userAction> {
  const parsed = mcpArgs.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { ok: false, problem: `${issue?.path.join('.')} ${issue?.message}` };
  }
  const { name, arguments: args } = parsed.data;
  const asked = { name, arguments: args ?? {}, thought: '', security_risk: -1 as const };
  return { ok: true, action: action('user', 'call_tool_mcp', `Calling the tool ${name}`, asked) };
}
