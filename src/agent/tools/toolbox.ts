import type { JSONSchema7 } from '@ai-sdk/provider';
import { z } from 'zod';

import type { AgentContext } from '../context.ts';
import type { AGENTS } from '../../contract/settings.ts';
import type { ModelTool } from '../../model/message.ts';
import { strReplaceEditor, view } from './editor.ts';
import { finish } from './finish.ts';
import { mcpTool } from './mcp.ts';
import { glob, grep } from './search.ts';
import { PROVIDER_TOOLS, providerTools } from './provider/provider-tools.ts';
import { executeBash } from './shell.ts';
import { taskTracker } from './task-tracker.ts';
import { think } from './think.ts';
import type { Tool } from './tool.ts';
import { webSearch } from './web-search.ts';

/** What each agent may always call. */
export const TOOLBOX: Readonly<Record<(typeof AGENTS)[number], readonly Tool[]>> = {
  CodeActAgent: [executeBash, strReplaceEditor, think, taskTracker, finish],
  ReadOnlyAgent: [grep, glob, view, think, finish],
  DummyAgent: [],
};

/** Names that tools of MCP servers may not have: whatever agent comes next, each name stands for one thing. */
export const RESERVED_TOOLS: ReadonlySet<string> = new Set(
  [...Object.values(TOOLBOX).flat(), webSearch].map(({ name }) => name).concat(PROVIDER_TOOLS),
);

type Offering = Pick<AgentContext, 'agent' | 'search' | 'mcp' | 'hosted'>;

/** What an agent may call in one run. What a tool of an MCP server does nobody knows: who only reads has none of them. */
export function toolsOf({ agent, search, mcp, hosted }: Offering): readonly Tool[] {
  if (agent === 'DummyAgent') return [];
  const reads = agent === 'ReadOnlyAgent';
  return [
    ...TOOLBOX[agent],
    ...(search ? [webSearch] : []),
    ...(hosted ? providerTools({ ...hosted, mayWrite: hosted.mayWrite && !reads }) : []),
    ...(mcp && !reads ? mcp.tools.map(mcpTool) : []),
  ];
}

/** What a replay may call: also of an agent that has no model, and of one whose searches are recorded as commands. */
export function toolsToReplay(context: Offering): readonly Tool[] {
  const { agent } = context;
  if (agent === 'ReadOnlyAgent') return [...TOOLBOX.ReadOnlyAgent, executeBash];
  return agent === 'CodeActAgent' ? toolsOf(context) : TOOLBOX.CodeActAgent;
}

/** As the model is offered them. */
export function toolsOffered(tools: readonly Tool[]): ModelTool[] {
  return tools.map((tool) => {
    const { name, description } = tool;
    return { type: 'function', name, description, inputSchema: parametersOf(tool) };
  });
}

/** As the `system` event shows them: functions in OpenAI's form, as V0 has them. */
export function toolsShown(tools: readonly Tool[]): unknown[] {
  return tools.map((tool) => {
    const { name, description } = tool;
    return { type: 'function', function: { name, description, parameters: parametersOf(tool) } };
  });
}

/** Of our own tools, which are the same for all: to write their schemas down takes a millisecond. */
const schemas = new WeakMap<z.ZodType, JSONSchema7>();

function parametersOf({ input }: Tool): JSONSchema7 {
  if ('jsonSchema' in input) return withoutDraft(input.jsonSchema);
  const known = schemas.get(input) ?? withoutDraft(z.toJSONSchema(input, { io: 'input' }));
  schemas.set(input, known);
  return known;
}

function withoutDraft(schema: Readonly<Record<string, unknown>>): JSONSchema7 {
  const { $schema: _, ...parameters } = schema;
  // What a server of MCP says it is, and zod's own draft, in which the members we use are the same.
  return parameters as JSONSchema7;
}
