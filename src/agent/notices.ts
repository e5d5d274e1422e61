import { errorObservation } from '../events/build.ts';
import { type Event, isObservation, type NewEvent } from '../events/event.ts';

/** The id of an error that stops nothing, and that the user is told once. */
const NOTICE = 'AGENT_ERROR$NOTICE';

/** What the user was told of what does not work as it should, folded from the log, so that nothing is said twice. */
export class NoticeMemory {
  readonly #said = new Set<string>();

  add(event: Event): void {
    if (isObservation(event, 'error') && event.extras.error_id === NOTICE) this.#said.add(event.content);
  }

  /** The events that say what of it was not said before. */
  of(texts: readonly string[]): NewEvent[] {
    const fresh = new Set(texts.filter((text) => text !== '' && !this.#said.has(text)));
    return [...fresh].map((text) => errorObservation(text, NOTICE));
  }
}
