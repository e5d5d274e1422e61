import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Outgoing, send } from '../forward.ts';
import type { GitHost, Passed } from '../git-host.ts';
import { framing } from '../headers.ts';
import type { Turns } from '../../../turns.ts';
import type { Refusal } from '../refusal.ts';
import { unproven } from './ancestry.ts';
import { commitsAtHost } from './commits-at-host.ts';
import { type PushHead, readPushHead } from './head.ts';
import { PackCommits } from './pack-commits.ts';
import { judge, notFastForwards, type Reasons, refusalSentence } from './policy.ts';
import type { Push, PushRules, RefChange } from './push.ts';
import { refusedReport, REPORT_TYPE, ReportReader } from './report.ts';

export interface PushExchangeOptions {
  git: GitHost;
  route: Passed;
  outgoing: Outgoing;
  incoming: IncomingMessage;
  response: ServerResponse;
  rules: PushRules;
  /** Who proves what it pushes waits for its turn. */
  turns: Turns;
  tell: (push: Push) => Promise<void>;
}

type Chunks = AsyncIterator<Buffer>;

/** A pack ends in a checksum of 20 or 32 bytes, without which no host takes it. */
const HELD_BACK_BYTES = 64;

class PushRefused extends Error {
  override readonly name = 'PushRefused';
  readonly refused: Reasons;

  constructor(refused: Reasons) {
    super('the push is refused');
    this.refused = refused;
  }
}

/**
 * One push: read what it asks for, held to the rules, passed on, and its outcome told before the program inside is
 * answered.
 */
export class PushExchange {
  readonly #options: PushExchangeOptions;
  readonly #signal: AbortSignal;
  /** Rejects with {@link PushRefused}. */
  readonly #verdict = Promise.withResolvers<void>();
  #status: number | null = null;
  #refusal: string | null = null;

  constructor(options: PushExchangeOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#verdict.promise.catch(() => {});
  }

  /** A refusal where git's own words can't be used for it. */
  async serve(): Promise<Refusal | null> {
    const { incoming, rules } = this.#options;
    const chunks = plainChunks(incoming);
    if (!chunks) return { status: 400, reason: 'a push may be compressed by gzip alone' };
    const read = await readPushHead(chunks);
    if (!read.ok && rules.policy === 'protect') {
      await readAway(incoming, chunks);
      this.#refusal = 'the refs that it changes can not be read: push fewer at once, and without a signature';
      await this.#tell(null, null);
      return { status: 403, reason: this.#refusal };
    }
    const head = read.ok
      ? read.head
      : { refs: [], capabilities: new Set<string>(), bytes: read.bytes, packAt: 0 };
    const report = new ReportReader(head);
    let inside: Refusal | null;
    try {
      inside = await this.#passOn(head, chunks, report);
    } catch (error) {
      if (!(error instanceof PushRefused)) throw error;
      await readAway(incoming, chunks);
      inside = this.#refuse(head, error.refused);
    } finally {
      if (!read.ok || head.refs.length > 0) await this.#tell(read.ok ? head : null, report);
    }
    if (!inside) this.#options.response.end();
    return inside;
  }

  async #passOn(head: PushHead, chunks: Chunks, report: ReportReader): Promise<Refusal | null> {
    const { git, route, outgoing, incoming, response, rules } = this.#options;
    const { refused, toProve } = await judge(head, rules, git.conversation);
    if (refused.size > 0) throw new PushRefused(refused);
    const body = toProve.length === 0 ? whole(head, chunks) : this.#inTurn(head, chunks, toProve);
    if (toProve.length === 0) this.#verdict.resolve();
    const answer = await send(
      'POST',
      { ...outgoing, headers: { ...outgoing.headers, ...framingOf(incoming, outgoing.headers) } },
      Readable.from(body, { objectMode: false }),
      this.#signal,
    );
    answer.on('error', () => {});
    answer.once('close', () => this.#verdict.reject(new Error('the host closed the connection')));
    // A host may begin to answer before it has read all.
    if (answer.statusCode === 200) await this.#verdict.promise;
    this.#status = answer.statusCode ?? null;
    const inside = await git.answer(answer, route);
    if ('reason' in inside) {
      answer.resume();
      return inside;
    }
    response.writeHead(inside.status, inside.headers);
    const listened = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        report.read(chunk);
        yield chunk;
      }
    };
    await pipeline(answer, listened, response, { end: false });
    return null;
  }

  async *#inTurn(head: PushHead, chunks: Chunks, toProve: readonly RefChange[]): AsyncGenerator<Buffer> {
    const giveBack = await this.#options.turns.take('proof', this.#signal);
    try {
      yield* this.#provenBody(head, chunks, toProve);
    } finally {
      giveBack();
    }
  }

  /**
   * All of the push, its end only once every update is proven. @throws PushRefused before that end: the host has then
   * got no pack, and changes nothing.
   */
  async *#provenBody(head: PushHead, chunks: Chunks, toProve: readonly RefChange[]): AsyncGenerator<Buffer> {
    const { git, outgoing } = this.#options;
    const hash = toProve[0]?.to?.length === 64 ? 'sha256' : 'sha1';
    const pack = new PackCommits(hash);
    let held: Buffer = Buffer.alloc(0);
    let before = head.packAt;
    for await (const chunk of whole(head, chunks)) {
      // The first chunk is what was read of the body with its head.
      await pack.write(chunk.subarray(before));
      before = 0;
      held = Buffer.concat([held, chunk]);
      const ready = Math.max(0, held.length - HELD_BACK_BYTES);
      if (ready > 0) yield held.subarray(0, ready);
      held = held.subarray(ready);
    }
    await pack.end();
    const path = outgoing.path.replace(/git-receive-pack$/, '');
    const ask = commitsAtHost(git, path, hash, this.#signal);
    const left = await unproven(toProve, pack.commits, ask);
    if (left.length > 0) {
      const refused = new PushRefused(notFastForwards(left));
      this.#verdict.reject(refused);
      throw refused;
    }
    this.#verdict.resolve();
    yield held;
  }

  #refuse(head: PushHead, refused: Reasons): null {
    const { response } = this.#options;
    this.#refusal = refusalSentence(refused);
    response.writeHead(200, { 'content-type': REPORT_TYPE, 'cache-control': 'no-cache' });
    response.write(refusedReport(head, refused, this.#refusal));
    return null;
  }

  async #tell(head: PushHead | null, report: ReportReader | null): Promise<void> {
    const { git, tell } = this.#options;
    const answers = this.#refusal === null ? report?.result() : null;
    await tell({
      conversation: git.conversation,
      repository: git.repository,
      refs: (head?.refs ?? []).map((ref) => ({ ...ref, answer: answers?.get(ref.name) ?? this.#unsaid() })),
      more: head === null,
      status: this.#status,
      refusal: this.#refusal,
    });
  }

  #unsaid(): 'refused' | 'unknown' {
    return this.#refusal === null ? 'unknown' : 'refused';
  }
}

/** Null for what is compressed in a way that is not read here. */
function plainChunks(incoming: IncomingMessage): Chunks | null {
  const encoding = (incoming.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return incoming.iterator({ destroyOnReturn: false }) as Chunks;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return null;
  const inflated = createGunzip();
  pipeline(incoming, inflated).catch(() => {});
  return inflated[Symbol.asyncIterator]() as Chunks;
}

/** So that a program in the middle of sending gets to see the answer. */
async function readAway(incoming: IncomingMessage, chunks: Chunks): Promise<void> {
  await chunks.return?.();
  incoming.resume();
}

async function* whole(head: PushHead, chunks: Chunks): AsyncGenerator<Buffer> {
  yield head.bytes;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

/** What was compressed leaves as it was read. */
function framingOf(incoming: IncomingMessage, headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  if (headers['content-encoding'] === undefined) return framing('POST', incoming.headers);
  return { 'transfer-encoding': 'chunked', 'content-encoding': undefined };
}
