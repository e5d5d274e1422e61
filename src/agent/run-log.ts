import { type Event, isObservation, type NewEvent } from '../events/event.ts';
import { History } from './history.ts';
import type { Journal } from './journal.ts';
import { NoticeMemory } from './notices.ts';
import { RecallMemory } from './recall-memory.ts';
import { StuckWatch } from './stuck.ts';
import { EditMemory } from './tools/edit-memory.ts';
import { TaskMemory } from './tools/task-memory.ts';

const PAGE = 200;

/**
 * The journal, and what a run keeps of it in memory. Every event passes here once, in the order of the log, as it was
 * stored: the run's own as it writes them, those of others read in between. Nothing is read twice.
 */
export class RunLog {
  readonly history: History;
  readonly edits = new EditMemory();
  readonly tasks = new TaskMemory();
  readonly stuck = new StuckWatch();
  readonly recalls = new RecallMemory();
  readonly notices = new NoticeMemory();
  /** Where the last command left the shell; null before the first. */
  cwd: string | null = null;
  readonly #journal: Journal;
  #next = 0;

  /** @param toReplay how many steps are replayed before an agent decides */
  constructor(journal: Journal, toReplay = 0) {
    this.history = new History(toReplay);
    this.#journal = journal;
  }

  /** Takes in what others wrote: all of the log at first, a new message of the user later. */
  async catchUp(): Promise<void> {
    if (this.#next > 0 && (await this.#journal.lastUserMessage()) < this.#next) return;
    for (;;) {
      const page = await this.#journal.read(this.#next, PAGE);
      if (page.length === 0) return;
      for (const event of page) this.#add(event);
    }
  }

  async append(events: readonly NewEvent[], settled: readonly number[] = []): Promise<Event[]> {
    return await this.#take(await this.#journal.append(events, settled));
  }

  async recordStep(...step: Parameters<Journal['recordStep']>): Promise<Event[]> {
    return await this.#take(await this.#journal.recordStep(...step));
  }

  async answer(observations: readonly NewEvent[]): Promise<Event[]> {
    return await this.#take(await this.#journal.answer(observations));
  }

  async #take(written: Event[]): Promise<Event[]> {
    const first = written[0]?.id ?? this.#next;
    while (this.#next < first) {
      const page = await this.#journal.read(this.#next, Math.min(PAGE, first - this.#next));
      if (page.length === 0) throw new Error(`The log has no event ${this.#next} before event ${first}.`);
      for (const event of page) this.#add(event);
    }
    for (const event of written) this.#add(event);
    return written;
  }

  #add(event: Event): void {
    this.#next = event.id + 1;
    if (isObservation(event, 'run')) this.cwd = event.extras.metadata.working_dir;
    this.history.add(event);
    this.edits.add(event);
    this.tasks.add(event);
    this.stuck.add(event);
    this.recalls.add(event);
    this.notices.add(event);
  }
}
