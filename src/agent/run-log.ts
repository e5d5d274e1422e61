import {
  type Condensation,
  type Event,
  isCondensation,
  isObservation,
  type NewEvent,
} from '../events/event.ts';
import { History } from './history/history.ts';
import type { Journal } from './journal.ts';
import { NoticeMemory } from './notices.ts';
import { RecallMemory } from './recall-memory.ts';
import { StuckWatch } from './stuck.ts';
import { EditMemory } from './tools/edit-memory.ts';
import { TaskMemory } from './tools/task-memory.ts';

const PAGE = 200;

/**
 * The journal, and what a run keeps of it in memory. Every event passes here once, in the order of the log, as it was
 * stored: the run's own as it writes them, those of others read in between. Nothing is read twice, and what is
 * forgotten is not read at all.
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

  /**
   * Takes in the log as it stands, without what is forgotten.
   * @param condensation the id of the newest one, -1 before the first
   */
  async open(condensation: number): Promise<void> {
    const [event] = condensation < 0 ? [] : await this.#journal.read(condensation, 1);
    if (event && isCondensation(event)) await this.#remember(event);
    await this.#readOn();
  }

  /** Takes in a new message of the user, and what came before it. */
  async catchUp(): Promise<void> {
    if ((await this.#journal.lastUserMessage()) >= this.#next) await this.#readOn();
  }

  /** What is not forgotten of the events before the last that is. */
  async #remember({ args, carried, replay = -1 }: Condensation): Promise<void> {
    this.history.replayed = replay + 1;
    const { forgotten_events_start_id: first, forgotten_events_end_id: last } = args;
    await this.#readUpTo(first ?? 0);
    for (const id of carried.waiting.filter((one) => one >= this.#next)) {
      for (const event of await this.#journal.read(id, 1)) this.#add(event);
    }
    this.#next = (last ?? -1) + 1;
  }

  async #readOn(): Promise<void> {
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

  async answer(...answered: Parameters<Journal['answer']>): Promise<Event[]> {
    return await this.#take(await this.#journal.answer(...answered));
  }

  async #take(written: Event[]): Promise<Event[]> {
    await this.#readUpTo(written[0]?.id ?? this.#next);
    for (const event of written) this.#add(event);
    return written;
  }

  async #readUpTo(end: number): Promise<void> {
    while (this.#next < end) {
      const page = await this.#journal.read(this.#next, Math.min(PAGE, end - this.#next));
      if (page.length === 0) throw new Error(`The log has no event ${this.#next} before event ${end}.`);
      for (const event of page) this.#add(event);
    }
  }

  #add(event: Event): void {
    this.#next = event.id + 1;
    if (event.inert) return;
    if (isObservation(event, 'run')) this.cwd = event.extras.metadata.working_dir;
    if (isCondensation(event)) this.cwd = event.carried.cwd;
    this.history.add(event);
    this.edits.add(event);
    this.tasks.add(event);
    this.stuck.add(event);
    this.recalls.add(event);
    this.notices.add(event);
  }
}
