import { type Event, isObservation, type TaskItem } from '../../events/event.ts';

/** The list as the log's last `plan` left it. */
export class TaskMemory {
  #tasks: TaskItem[] = [];

  get tasks(): readonly TaskItem[] {
    return this.#tasks;
  }

  add(event: Event): void {
    if (isObservation(event, 'task_tracking') && event.extras.command === 'plan') {
      this.#tasks = event.extras.task_list;
    }
  }
}
