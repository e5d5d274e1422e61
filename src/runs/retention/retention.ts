import { readdir } from 'node:fs/promises';
import type { AuditStore } from '../../audit/audit.ts';
import type { Conversation, ConversationStore } from '../../conversations/store.ts';
import type { Logger } from '../../observe/log.ts';
import type { SandboxLimits } from '../../sandbox/sandbox.ts';
import type { Transact } from '../../transact.ts';
import type { Sandboxes } from '../sandboxes.ts';
import { keepUnpushedWork, type KeepOutcome, type Kept } from './unpushed-work.ts';

export interface RetentionOptions {
  read: { conversations: ConversationStore };
  transact: Transact<{ conversations: ConversationStore; audit: AuditStore }>;
  sandboxes: Sandboxes;
  limits: SandboxLimits;
  /** Where bundles and patches go. */
  directory: string;
  log: Logger;
}

/** Conversations looked at by one query. */
const PAGE = 50;
/** Milliseconds until a conversation whose work could not be kept is tried again. */
const AGAIN_MS = 24 * 60 * 60 * 1000;

/**
 * Removes conversations that are stopped and untouched for long, after keeping what of their work is nowhere else. One
 * whose work cannot be kept stays, and the log says why. Their workspaces follow as those of all removed ones do.
 */
export class Retention {
  readonly #options: RetentionOptions;
  /** Those whose work could not be kept, with when to try them again. */
  readonly #notBefore = new Map<number, number>();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** @param before what was touched last before that is removed; gives how many were */
  async remove(before: Date, signal: AbortSignal): Promise<number> {
    const { conversations } = this.#options.read;
    const now = performance.now();
    for (const [key, again] of this.#notBefore) if (again <= now) this.#notBefore.delete(key);
    let removed = 0;
    for (let after = 0; ;) {
      const page = await conversations.untouched(before.toISOString(), after, PAGE);
      for (const key of page) {
        signal.throwIfAborted();
        if (this.#notBefore.has(key)) continue;
        if (await this.#removeOne(key, before, signal)) removed += 1;
      }
      const last = page.at(-1);
      if (last === undefined) return removed;
      after = last;
    }
  }

  async #removeOne(key: number, before: Date, signal: AbortSignal): Promise<boolean> {
    const { read, log } = this.#options;
    const row = await read.conversations.get(key);
    if (!row || !isUntouched(row, before)) return false;
    const outcome = await this.#keep(row, signal);
    if (!outcome.ok) {
      this.#notBefore.set(key, performance.now() + AGAIN_MS);
      log.warn(
        { conversation: key, reason: outcome.reason },
        'an old conversation stays: its unpushed work could not be kept',
      );
      return false;
    }
    const gone = await this.#forget(row, before, outcome.kept);
    if (gone) log.info({ conversation: key, kept: outcome.kept }, 'an old conversation was removed');
    return gone;
  }

  async #keep({ key, id }: Conversation, signal: AbortSignal): Promise<KeepOutcome> {
    const { sandboxes, limits, directory } = this.#options;
    if (await isEmpty(sandboxes.directories(key).workspace)) return { ok: true, kept: [] };
    const wish = {
      readOnlyWorkspace: false,
      workdir: '/workspace',
      env: {},
      identity: { name: 'Parley', email: 'parley@localhost' },
      git: null,
      limits,
    };
    const name = `${id}-${new Date().toISOString().slice(0, 10)}`;
    try {
      return await sandboxes.lend(key, wish, signal, (sandbox) =>
        keepUnpushedWork(sandbox, { directory, name, signal }),
      );
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** False when somebody has touched it meanwhile; what was kept of it then does no harm. */
  async #forget(row: Conversation, before: Date, kept: readonly Kept[]): Promise<boolean> {
    return await this.#options.transact(async ({ conversations, audit }) => {
      const now = await conversations.get(row.key);
      if (!now || !isUntouched(now, before)) return false;
      await conversations.remove(row.key);
      await audit.add([
        {
          action: 'conversation.deleted',
          userId: row.userId,
          actor: 'service',
          subject: row.id,
          detail: { reason: 'PARLEY_KEEP_DAYS', kept: kept.map(({ path }) => path) },
        },
      ]);
      return true;
    });
  }
}

function isUntouched(row: Conversation, before: Date): boolean {
  const idle = row.status === 'STOPPED' && row.driver === null && !row.wanted;
  return idle && row.updatedAt < before.toISOString();
}

async function isEmpty(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).length === 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true;
    throw error;
  }
}
