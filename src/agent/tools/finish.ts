import { z } from 'zod';

import { defineTool } from './tool.ts';

export const finish = defineTool({
  name: 'finish',
  description:
    'Ends the task. Call it when the task is done, or when it cannot be done. Say in the message what was done and how it was checked, what was not done and why, and what the user has to do next, if anything.',
  input: z.object({ message: z.string().describe('The last word to the user.') }),
  action: ({ message }, thought) => ({
    source: 'agent',
    message: message === '' ? 'The task is finished.' : message,
    action: 'finish',
    args: { final_thought: message, outputs: {}, thought },
  }),
});
