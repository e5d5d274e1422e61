import { constants, gunzipSync } from 'node:zlib';

/** A ref that a push asks to change. An id is null where there is none: a ref that is made, or removed. */
export interface RefChange {
  name: string;
  from: string | null;
  to: string | null;
}

/** A push that went through the gateway to the conversation's repository. */
export interface Push {
  /** The conversation's number; null when its front does not say. */
  conversation: number | null;
  /** `owner/name`. */
  repository: string;
  /** Names are the agent's own words. */
  refs: readonly RefChange[];
  /** There are more, or they could not be read. */
  more: boolean;
  /** What the host answered: its HTTP status; null when no answer came. A 200 may still refuse single refs. */
  status: number | null;
}

/** Of a push so much is looked at, and so much is told: a program inside decides how long it is. */
const READ_BYTES = 128 * 1024;
const INFLATED_BYTES = 1024 * 1024;
const TOLD_REFS = 20;
const NAME_LENGTH = 200;

/**
 * Reads what a push asks for from the first lines of its body, while that streams by
 * (git's Documentation/gitprotocol-pack, "Reference Update Request").
 */
export class PushReader {
  readonly #compressed: boolean;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param encoding the request's `Content-Encoding` */
  constructor(encoding: string | undefined) {
    this.#compressed = encoding !== undefined && encoding.toLowerCase() !== 'identity';
  }

  read(chunk: Buffer): void {
    if (this.#bytes >= READ_BYTES) return;
    this.#chunks.push(chunk.subarray(0, READ_BYTES - this.#bytes));
    this.#bytes += chunk.length;
  }

  /** Null for what asks for nothing, as the request by which git tries whether it may push. */
  result(): Pick<Push, 'refs' | 'more'> | null {
    const bytes = this.#plain();
    if (bytes === null) return { refs: [], more: true };
    const { refs, more } = refsOf(bytes);
    return refs.length === 0 && !more ? null : { refs, more };
  }

  #plain(): Buffer | null {
    const bytes = Buffer.concat(this.#chunks);
    if (!this.#compressed) return bytes;
    try {
      const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: INFLATED_BYTES };
      return gunzipSync(bytes, options);
    } catch {
      return null;
    }
  }
}

const UPDATE = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\0\n]+)/;

function refsOf(bytes: Buffer): Pick<Push, 'refs' | 'more'> {
  const refs: RefChange[] = [];
  for (let at = 0; ;) {
    const length = lengthAt(bytes, at);
    if (length === 'flush') return { refs, more: false };
    // Not the form of a push, or longer than what is looked at.
    if (length === null || at + length > bytes.length) return { refs, more: bytes.length > 0 };
    const line = bytes.subarray(at + 4, at + length).toString('utf8');
    at += length;
    const [, from = '', to = '', name] = UPDATE.exec(line) ?? [];
    if (name === undefined) continue;
    if (refs.length === TOLD_REFS) return { refs, more: true };
    refs.push({ name: name.slice(0, NAME_LENGTH), from: idOf(from), to: idOf(to) });
  }
}

function lengthAt(bytes: Buffer, at: number): number | 'flush' | null {
  const digits = bytes.toString('latin1', at, at + 4);
  if (!/^[0-9a-f]{4}$/i.test(digits)) return null;
  const length = Number.parseInt(digits, 16);
  if (length === 0) return 'flush';
  return length < 4 ? null : length;
}

function idOf(text: string): string | null {
  return /^0+$/.test(text) ? null : text;
}
