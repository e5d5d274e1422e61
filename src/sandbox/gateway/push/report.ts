import type { PushHead } from './head.ts';
import { FLUSH, packet, packetAt } from './packet.ts';
import type { Reasons } from './policy.ts';
import type { RefAnswer } from './push.ts';

/** A report of 1,000 refs is shorter; hooks may say more, beside it. */
const REPORT_BYTES = 1024 * 1024;
const SIDE_BAND = 'side-band-64k';

/**
 * Reads what became of each ref from the host's answer, while that streams by
 * (git's Documentation/gitprotocol-pack, "Report Status").
 */
export class ReportReader {
  readonly #inBands: boolean;
  #answer: Buffer = Buffer.alloc(0);
  #report: Buffer = Buffer.alloc(0);

  constructor({ capabilities }: Pick<PushHead, 'capabilities'>) {
    this.#inBands = capabilities.has(SIDE_BAND);
  }

  read(chunk: Buffer): void {
    if (!this.#inBands) return this.#keep(chunk);
    this.#answer = Buffer.concat([this.#answer, chunk]);
    let at = 0;
    for (const { data, next } of packetsOf(this.#answer)) {
      at = next;
      if (data[0] === 1) this.#keep(data.subarray(1));
    }
    this.#answer = this.#answer.subarray(at, at + REPORT_BYTES);
  }

  #keep(bytes: Buffer): void {
    if (this.#report.length < REPORT_BYTES) this.#report = Buffer.concat([this.#report, bytes]);
  }

  /** By ref. One of which nothing was said is not there. */
  result(): ReadonlyMap<string, RefAnswer> {
    const answers = new Map<string, RefAnswer>();
    const lines = [...packetsOf(this.#report)].map(({ data }) => data.toString('utf8').trimEnd());
    if (lines[0] !== 'unpack ok') return answers;
    for (const line of lines) {
      const [, word, ref = ''] = /^(ok|ng) (\S+)/.exec(line) ?? [];
      if (word) answers.set(ref, word === 'ok' ? 'ok' : 'refused');
    }
    return answers;
  }
}

/** Up to the first packet that is not whole, or none. */
function* packetsOf(bytes: Buffer): Generator<{ data: Buffer; next: number }> {
  try {
    for (let read = packetAt(bytes, 0); read; read = packetAt(bytes, read.next)) {
      yield { data: read.packet.kind === 'data' ? read.packet.data : Buffer.alloc(0), next: read.next };
    }
  } catch {
    // Not a form that git gives an answer in: nothing is known of the refs.
  }
}

export const REPORT_TYPE = 'application/x-git-receive-pack-result';

/** The answer to a push that is not passed on, as git's own server gives it: git shows the sentence and each reason. */
export function refusedReport({ refs, capabilities }: PushHead, refused: Reasons, sentence: string): Buffer {
  const lines = refs.map(({ name }) =>
    packet(`ng ${name} ${refused.get(name) ?? 'pushed together with what was refused'}\n`),
  );
  const reports = [...capabilities].some((name) => name.startsWith('report-status'));
  const report = reports
    ? Buffer.concat([packet('unpack ok\n'), ...lines, Buffer.from(FLUSH)])
    : Buffer.alloc(0);
  if (!capabilities.has(SIDE_BAND)) return report;
  const told = packet(`\u0002gateway: ${sentence}\n`);
  return Buffer.concat([told, ...inBand(report), Buffer.from(FLUSH)]);
}

const BAND_BYTES = 60_000;

function inBand(report: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < report.length; at += BAND_BYTES) {
    parts.push(packet(Buffer.concat([Buffer.from([1]), report.subarray(at, at + BAND_BYTES)])));
  }
  return parts;
}
