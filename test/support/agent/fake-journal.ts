import { type Event, isAction, type NewEvent } from '../../../src/events/event.ts';
import { Fenced } from '../../../src/events/log.ts';
import type { OpenAction, OpenActionState } from '../../../src/events/open-action.ts';
import type { Journal, StepRecord } from '../../../src/agent/journal.ts';

/** The process died. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/** A log in memory. It outlives the runs that write it, as one on disk does: what crosses is copied. */
export class FakeLog {
  readonly events: Event[] = [];
  readonly open = new Map<number, OpenActionState>();
  iterations = 0;
  /** What is set aside for calls of the model. */
  readonly reserved = new Map<number, number>();
  /** How often events were read by runs, for tests that count. */
  reads = 0;

  append(events: readonly NewEvent[]): Event[] {
    const timestamp = '2026-01-02T03:04:05.000000';
    return events.map((event) => {
      const stored = structuredClone({ id: this.events.length, timestamp, ...event });
      this.events.push(stored);
      return structuredClone(stored);
    });
  }

  get(id: number): Event {
    const event = this.events[id];
    if (!event) throw new Error(`no event ${id}`);
    return event;
  }

  actions(): Event[] {
    return this.events.filter((event) => 'action' in event && event.source === 'agent');
  }

  answersTo(id: number): Event[] {
    return this.events.filter((event) => 'observation' in event && event.cause === id);
  }
}

interface Faults {
  /** Dies at the write of that number, counted from 0, before or after it is stored. */
  crash?: { at: number; stored: boolean };
  /** From that write on another one drives. */
  fencedAt?: number;
  /** Hides secrets in what is stored. */
  redact?: (text: string) => string;
  /** Told of each write after it is stored. */
  afterWrite?: (log: FakeLog) => void;
}

/** What one run sees of a {@link FakeLog}. */
export class FakeJournal implements Journal {
  readonly #log: FakeLog;
  readonly #faults: Faults;
  writes = 0;

  constructor(log: FakeLog, faults: Faults = {}) {
    this.#log = log;
    this.#faults = faults;
  }

  append(events: readonly NewEvent[], settled: readonly number[] = []): Promise<Event[]> {
    return this.#write(() => {
      for (const call of settled) this.#log.reserved.delete(call);
      return this.#store(events);
    });
  }

  reserve(call: number, dollars: number): Promise<void> {
    return this.#write(() => {
      this.#log.reserved.delete(call);
      if (dollars > 0) this.#log.reserved.set(call, dollars);
    });
  }

  recordStep(events: readonly NewEvent[], step: StepRecord): Promise<Event[]> {
    return this.#write(() => {
      const stored = this.#store(events);
      for (const index of step.open) {
        const event = stored[index];
        if (!event) throw new RangeError(`no event ${index} in the step`);
        const state = index === step.awaiting ? 'awaiting' : index === step.started ? 'started' : 'recorded';
        this.#log.open.set(event.id, state);
      }
      const answers = this.#store(
        (step.answers ?? []).map(({ to, event }) => ({ ...event, cause: causeOf(stored[to]) })),
      );
      this.#log.iterations = step.iterations;
      for (const call of step.settled ?? []) this.#log.reserved.delete(call);
      return [...stored, ...answers];
    });
  }

  start(eventId: number): Promise<void> {
    return this.#write(() => void this.#log.open.set(eventId, 'started'));
  }

  answer(observations: readonly NewEvent[]): Promise<Event[]> {
    return this.#write(() => {
      for (const event of observations) {
        if ('observation' in event && event.cause !== undefined) this.#log.open.delete(event.cause);
      }
      return this.#store(observations);
    });
  }

  async openActions(): Promise<OpenAction[]> {
    return [...this.#log.open].map(([eventId, state]) => ({ eventId, state }));
  }

  async read(from: number, limit: number): Promise<Event[]> {
    const page = this.#log.events.slice(from, from + limit);
    this.#log.reads += page.length;
    return structuredClone(page);
  }

  async lastUserMessage(): Promise<number> {
    return (
      this.#log.events.findLast((event) => isAction(event, 'message') && event.source === 'user')?.id ?? -1
    );
  }

  #store(events: readonly NewEvent[]): Event[] {
    const { redact } = this.#faults;
    if (!redact) return this.#log.append(events);
    return this.#log.append(JSON.parse(redact(JSON.stringify(events))) as NewEvent[]);
  }

  async #write<T>(store: () => T): Promise<T> {
    const n = this.writes++;
    const { crash, fencedAt, afterWrite } = this.#faults;
    // A dead process writes nothing more, whatever its code still does.
    if (crash && (n > crash.at || (n === crash.at && !crash.stored))) throw new Crash(`at write ${n}`);
    if (fencedAt !== undefined && n >= fencedAt) throw new Fenced(`at write ${n}`);
    const result = store();
    afterWrite?.(this.#log);
    if (crash && n === crash.at) throw new Crash(`after write ${n}`);
    return result;
  }
}

function causeOf(action: Event | undefined): number {
  if (!action) throw new RangeError('no such event in the step');
  return action.id;
}
