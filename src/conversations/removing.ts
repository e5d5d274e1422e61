import { type AuditFact, keyActor } from '../audit/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { ConversationPorts } from './ports.ts';
import { interrupt } from './stopping.ts';
import type { Conversation } from './store.ts';

/** Milliseconds until a workspace that could not be removed is tried again. */
const AGAIN_MS = 60_000;

/** Removes conversations with all that is theirs: first what runs, then the row, then the workspace. */
export class Removals {
  readonly #ports: ConversationPorts;
  /** Those that are being removed here, and those that failed, with when to try them again. */
  readonly #notBefore = new Map<number, number>();

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
  }

  async remove(by: Principal, { key, id }: Conversation): Promise<void> {
    const { transact } = this.#ports;
    const fact: AuditFact = {
      action: 'conversation.deleted',
      userId: by.userId,
      actor: keyActor(by),
      subject: id,
    };
    this.#notBefore.set(key, Number.POSITIVE_INFINITY);
    try {
      await interrupt(this.#ports, key);
      await transact(async ({ conversations, audit }) => {
        // Two requests may ask for the same removal: it is told once.
        if (!(await conversations.get(key))) return;
        await conversations.remove(key);
        await audit.add([fact]);
      });
      await this.#discard(key);
    } finally {
      this.#notBefore.delete(key);
    }
  }

  /**
   * Ends and removes what is left of conversations whose row is gone: a crash came in between, or the command line
   * erased their user.
   */
  async finish(): Promise<void> {
    const failures: unknown[] = [];
    for (const key of await this.#ports.read.conversations.removed()) {
      if (performance.now() < (this.#notBefore.get(key) ?? 0)) continue;
      try {
        await this.#discard(key);
        this.#notBefore.delete(key);
      } catch (error) {
        this.#notBefore.set(key, performance.now() + AGAIN_MS);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'workspaces could not be removed');
  }

  async #discard(key: number): Promise<void> {
    const { drivers, transact, watchers } = this.#ports;
    watchers.end(key);
    await drivers.interrupt(key);
    await drivers.release(key);
    await drivers.discard(key);
    await transact(({ conversations }) => conversations.discarded(key));
  }
}
