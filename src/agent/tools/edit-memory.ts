import { type Event, isAction, isCondensation, isObservation } from '../../events/event.ts';

/** One edit that can be taken back. */
interface PastEdit {
  /** The id of its event. */
  id: number;
  /** null: the edit made the file. */
  before: string | null;
  after: string;
}

/** How many edits of a file can be taken back, and how many files are remembered. */
const DEPTH = 10;
const FILES = 100;

/** The edits of the log that `undo_edit` can take back: those that are not forgotten. */
export class EditMemory {
  readonly #edits = new Map<string, PastEdit[]>();
  /** Undo actions that have no answer yet. */
  readonly #undoing = new Set<number>();

  last(path: string): PastEdit | undefined {
    return this.#edits.get(path)?.at(-1);
  }

  add(event: Event): void {
    if (isAction(event, 'edit') && event.args.command === 'undo_edit') this.#undoing.add(event.id);
    if (isCondensation(event)) this.#forget(event.args.forgotten_events_end_id ?? -1);
    if (!isObservation(event, 'edit')) return;
    const { path, prev_exist, old_content, new_content } = event.extras;
    const edits = this.#edits.get(path) ?? [];
    this.#edits.delete(path);
    if (event.cause !== undefined && this.#undoing.delete(event.cause)) edits.pop();
    else if (new_content === null) edits.length = 0;
    else edits.push({ id: event.id, before: prev_exist ? old_content : null, after: new_content });
    if (edits.length === 0) return;
    this.#edits.set(path, edits.slice(-DEPTH));
    const [oldest] = this.#edits.keys();
    if (this.#edits.size > FILES && oldest !== undefined) this.#edits.delete(oldest);
  }

  #forget(last: number): void {
    for (const [path, edits] of this.#edits) {
      const kept = edits.filter(({ id }) => id > last);
      if (kept.length === 0) this.#edits.delete(path);
      else this.#edits.set(path, kept);
    }
  }
}
