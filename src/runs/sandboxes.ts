import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandbox/sandbox.ts';

/** What a run wants of its sandbox; the rest of the specification follows from the conversation's number. */
export type SandboxWish = Omit<SandboxSpec, 'key' | 'workspace' | 'home'>;

interface Held {
  wish: unknown;
  opening: Promise<Sandbox>;
  /** Runs that use it now. */
  users: number;
  lastUsed: number;
}

export interface SandboxesOptions {
  provider: SandboxProvider;
  /** Host directory with a folder for each conversation. */
  directory: string;
  /** How many may be open; the least recently used one that no run uses makes room. */
  most: number;
}

/**
 * The sandboxes of this process: made when first needed, kept while the conversation is in use, made again on the
 * same workspace when they were lost or when the settings they were made from have changed.
 */
export class Sandboxes {
  readonly #options: SandboxesOptions;
  readonly #held = new Map<number, Held>();

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** The conversation's sandbox, opened when there is none. @throws ServiceError sandbox_unavailable */
  async open(key: number, wish: SandboxWish, signal: AbortSignal): Promise<Sandbox> {
    const plain = comparable(wish);
    const held = this.#held.get(key);
    if (held) {
      held.lastUsed = performance.now();
      if (isDeepStrictEqual(held.wish, plain)) return await held.opening;
      await this.close(key);
    }
    await this.#makeRoom();
    const opening = this.#options.provider.open({ key, ...this.directories(key), ...wish }, signal);
    const entry: Held = { wish: plain, opening, users: held?.users ?? 0, lastUsed: performance.now() };
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
    const held = this.#held.get(key);
    if (!held) return () => {};
    held.users += 1;
    return () => {
      held.users -= 1;
      held.lastUsed = performance.now();
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

  /** Removes the conversation's directories. */
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
  directories(key: number): { workspace: string; home: string } {
    const own = join(this.#options.directory, String(key));
    return { workspace: join(own, 'workspace'), home: join(own, 'home') };
  }

  /** Where a conversation's commands see its workspace, before there is a sandbox to ask. */
  rootOf(key: number): string {
    const confined = this.#options.provider.report.kind !== 'unconfined';
    return confined ? '/workspace' : this.directories(key).workspace;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((key) => this.close(key)));
  }

  async #makeRoom(): Promise<void> {
    if (this.#held.size < this.#options.most) return;
    const [oldest] = [...this.#held]
      .filter(([, { users }]) => users === 0)
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
