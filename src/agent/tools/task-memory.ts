import { type Event, isCondensation, isObservation, type TaskItem } from '../../events/event.ts';

/** The list as the log's last `plan` left it; a condensation has it too. */
export class TaskMemory {
  #tasks: TaskItem[] = [];

  get tasks(): readonly TaskItem[] {
    return this.#tasks;
  }

  add(event: Event): void {
    if (isObservation(event, 'task_tracking') && event.extras.command === 'plan') {
      this.#tasks = event.extras.task_list;
    } else if (isCondensation(event)) {
      this.#tasks = event.carried.tasks;
    }
  }
}
