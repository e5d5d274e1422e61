import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../errors.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandbox/sandbox.ts';
import { unlessAborted } from '../unless-aborted.ts';

/** What a run wants of its sandbox; the rest of the specification follows from the conversation's number. */
export type SandboxWish = Omit<SandboxSpec, 'key' | 'workspace' | 'home' | 'drafts'>;

/** Beside the conversations' folders, whose names are numbers. */
const DRAFTS = '.drafts';

interface Held {
  wish: unknown;
  opening: Promise<Sandbox>;
  /** Opened only to be lent: closed when nobody has it any more. */
  lent: boolean;
  lastUsed: number;
}

export interface SandboxesOptions {
  provider: SandboxProvider;
  /** Whether commands see their workspace as `/workspace`, not where it is on the host. */
  confined: boolean;
  /** Host directory with a folder for each conversation. */
  directory: string;
  /** How many may be open; the least recently used one that no run uses makes room. */
  most: number;
  /** Whether the conversation has not been removed: asked before its directories are made. */
  exists: (key: number) => Promise<boolean>;
}

/**
 * The sandboxes of this process: made when first needed, kept while the conversation is in use, made again on the
 * same workspace when they were lost or when the settings they were made from have changed.
 */
export class Sandboxes {
  readonly #options: SandboxesOptions;
  readonly #held = new Map<number, Held>();
  /** How many runs and borrowers use a conversation's sandbox now, whichever it is. */
  readonly #users = new Map<number, number>();

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** The conversation's sandbox, opened when there is none. @throws ServiceError sandbox_unavailable */
  async open(key: number, wish: SandboxWish, signal: AbortSignal): Promise<Sandbox> {
    const plain = comparable(wish);
    const held = this.#held.get(key);
    if (held) {
      held.lastUsed = performance.now();
      if (isDeepStrictEqual(held.wish, plain)) {
        held.lent = false;
        return await held.opening;
      }
      await this.close(key);
    }
    return await this.#open(key, wish, signal, false);
  }

  /**
   * Gives the conversation's sandbox as it is; where none is open, one as wished, which is closed after `use`. A run
   * that wants another takes the place: then what `use` does in it ends as lost.
   * @throws ServiceError sandbox_unavailable, conversation_not_found
   */
  async lend<T>(
    key: number,
    wish: SandboxWish,
    signal: AbortSignal,
    use: (sandbox: Sandbox) => Promise<T>,
  ): Promise<T> {
    const release = this.use(key);
    // Not tied to this signal: by the time it is open another may have been lent it.
    const opening = this.#held.get(key)?.opening ?? this.#open(key, wish, new AbortController().signal, true);
    try {
      return await use(await unlessAborted(opening, signal));
    } finally {
      release();
      if (this.#held.get(key)?.lent === true && !this.#users.has(key)) await this.close(key);
    }
  }

  async #open(key: number, wish: SandboxWish, signal: AbortSignal, lent: boolean): Promise<Sandbox> {
    const opening = Promise.all([this.#makeRoom(), this.#mustExist(key)]).then(() =>
      this.#options.provider.open({ key, ...this.directories(key), ...wish }, signal),
    );
    const entry: Held = { wish: comparable(wish), opening, lent, lastUsed: performance.now() };
    // At once: a removal that comes after the look whether it exists finds it here, and closes it.
    this.#held.set(key, entry);
    const forget = (): void => {
      if (this.#held.get(key) === entry) this.#held.delete(key);
    };
    try {
      const sandbox = await opening;
      void sandbox.ended.then(forget);
      return sandbox;
    } catch (reason) {
      forget();
      throw reason;
    }
  }

  /** Keeps the conversation's sandbox from making room for others until the function it gives is called. */
  use(key: number): () => void {
    this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#users.get(key) ?? 1) - 1;
      if (left === 0) this.#users.delete(key);
      else this.#users.set(key, left);
      const held = this.#held.get(key);
      if (held) held.lastUsed = performance.now();
    };
  }

  /** Ends the conversation's sandbox, if there is one. */
  async close(key: number): Promise<void> {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    const sandbox = await held.opening.catch(() => undefined);
    await sandbox?.close();
  }

  /** Removes the conversation's directories. By now it must not exist any more. */
  async discard(key: number): Promise<void> {
    await this.close(key);
    await this.#options.provider.discard({ key, ...this.directories(key) });
    // Not when there is something of another's in it.
    await rmdir(join(this.#options.directory, String(key))).catch(() => {});
  }

  get size(): number {
    return this.#held.size;
  }

  /** Where a conversation's files are on the host. */
  directories(key: number): Pick<SandboxSpec, 'workspace' | 'home' | 'drafts'> {
    const { directory } = this.#options;
    const own = join(directory, String(key));
    return { workspace: join(own, 'workspace'), home: join(own, 'home'), drafts: join(directory, DRAFTS) };
  }

  /** Removes what a process that was killed had not written to its end. Before anything is written here. */
  async removeDrafts(): Promise<void> {
    await rm(join(this.#options.directory, DRAFTS), { recursive: true, force: true });
  }

  /** Where a conversation's commands see its workspace, before there is a sandbox to ask. */
  rootOf(key: number): string {
    return this.#options.confined ? '/workspace' : this.directories(key).workspace;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((key) => this.close(key)));
  }

  /** Its directories would be made again, and nobody would remove them. */
  async #mustExist(key: number): Promise<void> {
    if (await this.#options.exists(key)) return;
    throw new ServiceError('conversation_not_found', 'The conversation has been removed.');
  }

  async #makeRoom(): Promise<void> {
    if (this.#held.size < this.#options.most) return;
    const [oldest] = [...this.#held]
      .filter(([key]) => !this.#users.has(key))
      .toSorted(([, a], [, b]) => a.lastUsed - b.lastUsed);
    if (oldest) await this.close(oldest[0]);
  }
}

/** Secrets compare by their value, not as objects; functions and classes do not occur. */
function comparable(wish: SandboxWish): unknown {
  return {
    ...wish,
    env: Object.fromEntries(Object.entries(wish.env).map(([name, secret]) => [name, secret.unwrap()])),
    git: wish.git && {
      ...wish.git,
      credential: wish.git.credential && {
        username: wish.git.credential.username,
        token: wish.git.credential.token.unwrap(),
      },
    },
  };
}
