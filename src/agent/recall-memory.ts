import { type ActionArgs, type Event, isAction, isCondensation, isObservation } from '../events/event.ts';

/** What a conversation was told of its repository's knowledge, folded from the log, so that nothing is told twice. */
export class RecallMemory {
  /** The recall that has no observation yet. One of knowledge gets none when there is nothing to tell. */
  open: { id: number; type: ActionArgs['recall']['recall_type'] } | null = null;
  /** What each microagent said, by its name. */
  readonly #told = new Map<string, string>();

  add(event: Event): void {
    if (isAction(event, 'recall')) {
      this.open = { id: event.id, type: event.args.recall_type };
    } else if (isObservation(event, 'recall')) {
      if (event.cause === this.open?.id) this.open = null;
      for (const { name, content } of event.extras.microagent_knowledge) this.#told.set(name, content);
    } else if (isCondensation(event)) {
      // What is summed up may have had it; then it is told again.
      this.#told.clear();
    } else if ('action' in event && event.source === 'agent' && this.open?.type === 'knowledge') {
      // The agent has gone on: there was nothing to tell.
      if (event.action !== 'system') this.open = null;
    }
  }

  wasTold(name: string, content: string): boolean {
    return this.#told.get(name) === content;
  }
}
