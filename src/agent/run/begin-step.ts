import { isAction, type NewEvent, type TaskItem } from '../../events/event.ts';
import type { Answered } from '../journal.ts';
import type { Recorded } from '../minds/record.ts';
import { hasEffect } from '../tools/carry-out.ts';
import { trackTasks } from '../tools/task-tracker.ts';
import { noteThought } from '../tools/think.ts';

/** A step with what is stored of its beginning in the commit of the step itself: a commit of its own is saved. */
export interface BegunStep extends Recorded {
  /** What came of the first actions, as far as they note something and do nothing else. */
  answers: readonly Answered[];
  /** The index of the action after them, if that has an effect. */
  started?: number;
}

/** @param tasks the list as the log has it */
export function beginStep(step: Recorded, tasks: readonly TaskItem[]): BegunStep {
  const { events, awaiting } = step;
  const open = [...step.open];
  const answers: Answered[] = [];
  let list = tasks;
  for (const to of step.open) {
    const event = answerTo(events[to], list);
    if (!event) break;
    if ('observation' in event && event.observation === 'task_tracking') list = event.extras.task_list;
    answers.push({ to, event });
    open.shift();
  }
  const [next] = open;
  if (next === undefined || next === awaiting) return { ...step, open, answers };
  const action = events[next];
  const started = action && 'action' in action && hasEffect(action) ? { started: next } : {};
  return { ...step, open, answers, ...started };
}

function answerTo(action: NewEvent | undefined, tasks: readonly TaskItem[]): NewEvent | null {
  if (action && isAction(action, 'think')) return noteThought();
  if (action && isAction(action, 'task_tracking')) return trackTasks(action, tasks);
  return null;
}
