import { randomUUID } from 'node:crypto';
import { agentIsDue, type ConversationChange, type Conversation } from '../conversations/store.ts';
import type { ConversationStores } from '../conversations/ports.ts';
import { rouse } from '../conversations/waking.ts';
import { errorObservation, stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { ConversationGone, Fenced } from '../events/log.ts';
import { notDone } from '../events/not-done.ts';
import type { Logger } from '../observe/log.ts';
import type { Transact } from '../transact.ts';
import { patient } from './patient.ts';
import type { Sandboxes } from './sandboxes.ts';

/** How one stretch of driving ends: what changes on the row, what is said in the log, whether work is left. */
export interface End {
  events: readonly NewEvent[];
  change: ConversationChange;
  /** Null where the agent did nothing: then as the row has it. */
  unfinished: boolean | null;
  /** Why what the user has asked for cannot be done; not given where it can. */
  undone?: string;
  /** The newest message of the user that was dealt with. */
  seen: number;
}

/** Does what a conversation needs now. @throws the signal's reason, Fenced, ConversationGone */
export type Stretch = (row: Conversation, signal: AbortSignal) => Promise<End>;

export interface DriverOptions {
  read: ConversationStores;
  transact: Transact<ConversationStores>;
  sandboxes: Sandboxes;
  stretch: Stretch;
  log: Logger;
}

/** Why a run was ended from outside: it writes no more, and whoever interrupted says what became of it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Milliseconds an interrupted run has to end by itself, before its sandbox is ended under it. */
const GRACE_MS = 2_000;

interface ActiveRun {
  generation: number;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Drives conversations in this process. A row is claimed by raising its generation; every write of the run names
 * that generation. The run ends in one transaction that finds no newer message of the user and nothing else that is
 * asked for, or else goes on.
 */
export class Driver {
  /** Names this process in the rows it drives. */
  readonly id = randomUUID();
  readonly #options: DriverOptions;
  readonly #active = new Map<number, ActiveRun>();
  readonly #closing = new AbortController();

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  /** Drives the conversation until there is nothing more to do for now. Never rejects. */
  async drive(key: number): Promise<void> {
    const { transact, log } = this.#options;
    const { signal: closing } = this.#closing;
    try {
      const row = await patient(transact, closing)(({ conversations }) => conversations.claim(key, this.id));
      if (!row || closing.aborted) return;
      const abort = new AbortController();
      const done = this.#run(row, abort.signal);
      this.#active.set(key, { generation: row.generation, abort, done });
      await done;
    } catch (error) {
      if (error === closing.reason) return;
      // The row still wants to be driven, or is taken for orphaned: the sweep finds it.
      log.error({ err: error, conversation: key }, 'run could not be taken up or ended');
    } finally {
      this.#active.delete(key);
    }
  }

  /** Whether this process drives the conversation now. */
  drives(key: number): boolean {
    return this.#active.has(key);
  }

  /** How many conversations are driven now. */
  get running(): number {
    return this.#active.size;
  }

  /** Ends the run that is here; with a `generation`, only an older one. Resolves when it has ended. */
  async interrupt(key: number, generation = Number.POSITIVE_INFINITY): Promise<void> {
    const run = this.#active.get(key);
    if (!run || run.generation >= generation) return;
    run.abort.abort(new Interrupted('the run was interrupted'));
    const late = setTimeout(() => void this.#options.sandboxes.close(key), GRACE_MS);
    await run.done.catch(() => {});
    clearTimeout(late);
  }

  /** Ends all runs; their conversations are taken up again at the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#active.keys()].map((key) => this.interrupt(key)));
  }

  async #run(claimed: Conversation, signal: AbortSignal): Promise<void> {
    const { read, log } = this.#options;
    let row: Conversation | undefined = claimed;
    while (row) {
      const { key: conversation, generation } = row;
      const began = performance.now();
      log.debug({ conversation, generation }, 'run begins');
      let end: End;
      try {
        end = await this.#options.stretch(row, signal);
      } catch (error) {
        if (signal.aborted || error instanceof Fenced || error instanceof ConversationGone) return;
        log.error({ err: error, conversation }, 'run failed');
        end = broken(row);
      }
      const ended = { conversation, generation, ms: Math.round(performance.now() - began) };
      if (end.change.error) log.info({ ...ended, code: end.change.error.code }, 'run ended in an error');
      else log.debug(ended, 'run ended');
      // Also when it was interrupted meanwhile: what was done is done, and a start need not do it again.
      if ((await this.#end(row, end, signal)) || signal.aborted) return;
      row = await read.conversations.get(row.key);
      if (row?.generation !== claimed.generation) return;
    }
  }

  /**
   * False when there is more to do: the user said something meanwhile, which wakes what has just ended, a failed start
   * too; had the agent go on that rested; or asked for an action.
   */
  async #end({ key, generation }: Conversation, end: End, signal: AbortSignal): Promise<boolean> {
    try {
      return await patient(
        this.#options.transact,
        signal,
      )(async (stores) => {
        const { conversations, events } = stores;
        await events.append(key, end.events, generation);
        await conversations.change(key, end.change, generation);
        if (end.undone !== undefined) await answerAsked(stores, key, end.undone, generation);
        const row = await conversations.get(key);
        if (!row || (end.unfinished === null && agentIsDue(row))) return false;
        const unfinished = end.unfinished ?? row.unfinished;
        if (await conversations.release(key, generation, { seen: end.seen, unfinished })) return true;
        if (row.lastUserMessage > end.seen) await rouse(stores, row, {}, generation);
        else await conversations.change(key, { unfinished }, generation);
        return false;
      });
    } catch (error) {
      if (error instanceof Fenced || error instanceof ConversationGone) return true;
      throw error;
    }
  }
}

async function answerAsked(
  { events, openActions }: ConversationStores,
  key: number,
  reason: string,
  generation: number,
): Promise<void> {
  const open = await openActions.of(key);
  const asked = open.flatMap(({ eventId, state }) => (state === 'asked' ? [eventId] : []));
  await events.append(
    key,
    asked.map((id) => notDone(id, reason)),
    generation,
  );
  await openActions.close(key, asked);
}

/** The end of a run that met something nobody expected. */
function broken(row: Conversation): End {
  const message = 'Something broke while the conversation was driven; the log of the service says what.';
  return {
    events: [errorObservation(message, 'STATUS$ERROR'), stateChanged('error', message)],
    change: {
      status: row.status === 'STARTING' ? 'ERROR' : row.status,
      runtimeStatus: 'STATUS$ERROR',
      error: { code: 'internal', message, hint: 'Start the conversation again, or send a message.' },
    },
    unfinished: true,
    undone: message,
    seen: row.lastUserMessage,
  };
}
