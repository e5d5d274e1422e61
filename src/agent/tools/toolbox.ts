import type { ToolSet } from 'ai';
import { z } from 'zod';

import type { AgentContext } from '../context.ts';
import type { AGENTS } from '../../contract/settings.ts';
import { strReplaceEditor, view } from './editor.ts';
import { finish } from './finish.ts';
import { glob, grep } from './search.ts';
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

/** What an agent may call in one run. */
export function toolsOf({ agent, search }: Pick<AgentContext, 'agent' | 'search'>): readonly Tool[] {
  return search && agent !== 'DummyAgent' ? [...TOOLBOX[agent], webSearch] : TOOLBOX[agent];
}

/** What a replay may call: also of an agent that has no model, and of one whose searches are recorded as commands. */
export function toolsToReplay(agent: (typeof AGENTS)[number]): readonly Tool[] {
  if (agent === 'ReadOnlyAgent') return [...TOOLBOX.ReadOnlyAgent, executeBash];
  return TOOLBOX.CodeActAgent;
}

/** As the model is offered them. */
export function toolSet(tools: readonly Tool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [name, { description, inputSchema: input }]),
  );
}

/** As the `system` event shows them: functions in OpenAI's form, as V0 has them. */
export function toolsShown(tools: readonly Tool[]): unknown[] {
  return tools.map(({ name, description, input }) => {
    const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: 'input' });
    return { type: 'function', function: { name, description, parameters } };
  });
}
