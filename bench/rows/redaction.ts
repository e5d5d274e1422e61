import { randomBytes } from 'node:crypto';
import { Redactor } from '../../src/secrets/redactor.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { median } from '../support/statistics.ts';

const SECRETS = 50;
const SIZES = [
  { name: '30 KB', bytes: 30_000, goal: 1 },
  { name: '1 MB', bytes: 1_000_000, goal: 20 },
];
const ROUNDS = 60;

/**
 * One observation cleaned of all secrets of a user. Beside it: one regular expression of the plain secrets, which sees
 * none that is encoded, escaped or broken into lines.
 */
export const redaction: Subject = {
  seconds: 60,
  measure: (share) =>
    Promise.resolve(SIZES.map((size) => rowOf({ ...size, bytes: size.bytes * share }, share))),
};

function rowOf({ name, bytes, goal }: (typeof SIZES)[number], share: Share): Row {
  const values = Array.from({ length: SECRETS }, () => randomBytes(20).toString('base64url'));
  const redactor = new Redactor(values.map((value) => new Secret(value)));
  const plain = new RegExp(values.join('|'), 'g');
  const text = logOf(bytes, values);
  const runs = { ours: [] as number[], limit: [] as number[] };
  for (let n = 0; n < ROUNDS; n += 1) {
    runs.ours.push(time(() => redactor.redact(text)));
    runs.limit.push(time(() => text.replaceAll(plain, '<secret_hidden>')));
  }
  const middle = median(runs.ours);
  return {
    what: `redaction with ${SECRETS} secrets, an observation of ${share === 1 ? name : `${bytes / 1000} KB`}`,
    measured: `${middle.toFixed(2)} ms`,
    limit: `${median(runs.limit).toFixed(2)} ms`,
    ...heldTo(share, `< ${goal} ms`, middle < goal),
    runs,
  };
}

/** What a build writes, with a secret every hundred lines. */
function logOf(bytes: number, secrets: readonly string[]): string {
  let text = '';
  for (let n = 0; text.length < bytes; n += 1) {
    text += `[${n}] compiling src/module-${(n * 7919) % 1000}.ts -> dist/${((n * 104_729) % 65_536).toString(16)}.js (${n % 97} ms, "cached": ${n % 2 === 0})\n`;
    if (n % 100 === 0) text += `export TOKEN=${secrets[(n / 100) % secrets.length]}\n`;
  }
  return text.slice(0, bytes);
}

function time(work: () => void): number {
  const begun = performance.now();
  work();
  return performance.now() - begun;
}
