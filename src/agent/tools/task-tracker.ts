import { z } from 'zod';

import { observation } from '../../events/build.ts';
import type { ActionArgs, TaskItem } from '../../events/event.ts';
import type { Result } from './bench.ts';
import { defineTool } from './tool.ts';

const task = z.object({
  id: z.string().describe('Names the task; stays the same when the list is planned anew.'),
  title: z.string().describe('What is to be done.'),
  status: z.enum(['todo', 'in_progress', 'done']),
  notes: z.string().optional().describe('What is worth remembering about it.'),
});

export const taskTracker = defineTool({
  name: 'task_tracker',
  description: `Keeps a list of tasks for work of several steps, seen by the user too. Not needed for what takes one or two steps.

* \`view\` shows the list.
* \`plan\` replaces the list with \`task_list\`: give it whole each time. Have one task in progress at a time, and mark each done as soon as it is.`,
  input: z.object({
    command: z.enum(['view', 'plan']),
    task_list: z.array(task).max(200).optional().describe('The whole list, in order. Needed for plan.'),
  }),
  action({ command, task_list }, thought) {
    if (command === 'plan' && task_list === undefined) return 'task_list is needed for the command plan.';
    const tasks = (task_list ?? []).map(({ notes = '', ...rest }) => ({ ...rest, notes }));
    return {
      source: 'agent',
      message:
        command === 'view'
          ? 'Viewing the task list.'
          : `Managing ${tasks.length} task item${s(tasks.length)}.`,
      action: 'task_tracking',
      args: { command, task_list: tasks, thought },
    };
  },
});

/** @param known the list as it was before */
export function trackTasks(
  { args: { command, task_list } }: { args: ActionArgs['task_tracking'] },
  known: readonly TaskItem[],
): Result {
  const tasks = command === 'plan' ? task_list : [...known];
  const said =
    command === 'plan' ? `The list has ${tasks.length} task${s(tasks.length)} now.` : listed(tasks);
  return observation('agent', 'task_tracking', said, { command, task_list: tasks });
}

const MARKS = { todo: '[ ]', in_progress: '[~]', done: '[x]' } as const;

function listed(tasks: readonly TaskItem[]): string {
  if (tasks.length === 0) return 'There are no tasks yet. Make a list with the command plan.';
  return tasks
    .map(
      ({ id, title, status, notes }) =>
        `${MARKS[status]} ${id}: ${title}${notes === '' ? '' : ` (${notes})`}`,
    )
    .join('\n');
}

function s(count: number): string {
  return count === 1 ? '' : 's';
}
