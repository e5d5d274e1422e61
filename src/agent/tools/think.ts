import { z } from 'zod';

import { observation } from '../../events/build.ts';
import type { Result } from './bench.ts';
import { defineTool } from './tool.ts';

export const think = defineTool({
  name: 'think',
  description:
    'Notes a thought: a plan, a hypothesis about a bug, a comparison of ways to go. Changes nothing and runs nothing. Use it when a problem is hard enough that writing the reasoning down helps.',
  input: z.object({ thought: z.string().describe('The thought.') }),
  action: ({ thought }) => ({
    source: 'agent',
    message: `I am thinking...: ${thought}`,
    action: 'think',
    args: { thought },
  }),
});

export function noteThought(): Result {
  return observation('agent', 'think', 'Your thought has been logged.', {});
}
