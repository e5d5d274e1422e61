import { isUtf8 } from 'node:buffer';
import { packetAt } from './packet.ts';
import type { RefChange } from './push.ts';

/** What a push says before its pack. */
export interface PushHead {
  /** Empty for a request that asks for nothing, as the one by which git tries whether it may push. */
  refs: readonly RefChange[];
  capabilities: ReadonlySet<string>;
  /** All that was read of the body so far. */
  bytes: Buffer;
  /** Where in the bytes the pack begins. */
  packAt: number;
}

/** About 2,000 refs: a program inside decides how many there are. */
const HEAD_BYTES = 256 * 1024;
const MOST_REFS = 1_000;
const NAME_BYTES = 1_000;

/**
 * Reads what a push asks for from the first packets of its body
 * (git's Documentation/gitprotocol-pack, "Reference Update Request").
 * @returns `unreadable` with what was read, where that has another form or is longer than what is looked at; signed
 * pushes are among these, as they say it within a certificate
 */
export async function readPushHead(
  chunks: AsyncIterator<Buffer>,
): Promise<{ ok: true; head: PushHead } | { ok: false; bytes: Buffer }> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const read = headIn(bytes);
    if (read === 'unreadable') return { ok: false, bytes };
    if (read) return { ok: true, head: { ...read, bytes } };
    if (bytes.length > HEAD_BYTES) return { ok: false, bytes };
    const { value, done } = await chunks.next();
    if (done) return bytes.length === 0 ? { ok: true, head: nothing(bytes) } : { ok: false, bytes };
    bytes = bytes.length === 0 ? value : Buffer.concat([bytes, value]);
  }
}

function nothing(bytes: Buffer): PushHead {
  return { refs: [], capabilities: new Set(), bytes, packAt: 0 };
}

const UPDATE = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/[^\0\n]+)(?:\0([^\n]*))?\n?$/;
const SHALLOW = /^shallow [0-9a-f]{40,64}\n?$/;

function headIn(bytes: Buffer): Omit<PushHead, 'bytes'> | 'unreadable' | null {
  const refs: RefChange[] = [];
  let capabilities: ReadonlySet<string> = new Set();
  // After the updates come the options, where the updates say that there are some.
  let inOptions = false;
  for (let at = 0; ;) {
    const read = nextPacket(bytes, at);
    if (read === null || read === 'unreadable') return read;
    at = read.next;
    if (read.packet.kind === 'flush') {
      if (inOptions || !capabilities.has('push-options')) return { refs, capabilities, packAt: at };
      inOptions = true;
      continue;
    }
    if (read.packet.kind !== 'data') return 'unreadable';
    if (inOptions) continue;
    const line = read.packet.data;
    if (!isUtf8(line) || refs.length === MOST_REFS) return 'unreadable';
    const text = line.toString('utf8');
    const [, from = '', to = '', name = '', said] = UPDATE.exec(text) ?? [];
    if (name === '' && SHALLOW.test(text)) continue;
    if (name === '' || name.length > NAME_BYTES) return 'unreadable';
    if (said !== undefined && refs.length === 0) capabilities = new Set(said.trim().split(' '));
    refs.push({ name, from: idOf(from), to: idOf(to) });
  }
}

function nextPacket(bytes: Buffer, at: number): ReturnType<typeof packetAt> | 'unreadable' {
  try {
    return packetAt(bytes, at);
  } catch {
    return 'unreadable';
  }
}

function idOf(text: string): string | null {
  return /^0+$/.test(text) ? null : text;
}
