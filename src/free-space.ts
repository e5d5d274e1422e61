import { statfs } from 'node:fs/promises';
import { ServiceError } from './errors.ts';

/** How much of a disk is to stay free: the smallest of what is given. */
export interface FreeSpaceRule {
  bytes: number | null;
  /** Of the whole disk, 0 to 1. */
  share: number | null;
}

export interface FreeSpace {
  ok: boolean;
  /** One sentence a person can act on; empty when ok. */
  reason: string;
  /** Bytes. */
  free: number;
  wanted: number;
}

/** Milliseconds that a look at the disk counts. */
const LOOK_MS = 1_000;

/** Keeps watch that new work leaves the disk enough room for what runs to end well. */
export class FreeSpaceGuard {
  readonly #directory: string;
  readonly #rule: FreeSpaceRule;
  #last: { at: number; space: Promise<FreeSpace> } | undefined;

  constructor(directory: string, rule: FreeSpaceRule) {
    this.#directory = directory;
    this.#rule = rule;
  }

  /** At most a second old. */
  look(): Promise<FreeSpace> {
    const now = performance.now();
    if (!this.#last || now - this.#last.at > LOOK_MS) this.#last = { at: now, space: this.#measure() };
    return this.#last.space;
  }

  /** @throws ServiceError disk_almost_full */
  async admit(): Promise<void> {
    const { ok, reason } = await this.look();
    if (!ok) throw new ServiceError('disk_almost_full', reason, { retryAfter: 60 });
  }

  async #measure(): Promise<FreeSpace> {
    const { bavail, blocks, bsize } = await statfs(this.#directory);
    const free = bavail * bsize;
    const { bytes, share } = this.#rule;
    const bounds = [bytes, share === null ? null : share * blocks * bsize].filter((bound) => bound !== null);
    const wanted = bounds.length === 0 ? 0 : Math.floor(Math.min(...bounds));
    const ok = free >= wanted;
    const reason = ok
      ? ''
      : `The disk of the data directory has ${mebibytes(free)} left, less than the ${mebibytes(wanted)} that are to stay free: no new work is begun until something is removed.`;
    return { ok, reason, free, wanted };
  }
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
