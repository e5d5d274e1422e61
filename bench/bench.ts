/**
 * Measures the subjects named, or all, each at its full size and at a tenth of it, prints them as a table and keeps
 * every number in `bench/results/<date>.json`. With `--docs` the table also replaces the one in docs/performance.md;
 * `--tenth` leaves the full sizes out; `--minutes` is how long what is loaded for long is loaded.
 *
 * Each measurement is a process of its own with a folder of its own and a time to be done in: what hangs is ended,
 * with all that it started, and its line says so.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { putIntoDocs, type Result } from './docs.ts';
import type { Row, Share } from './row.ts';
import { SUBJECTS } from './subjects.ts';
import { type Measured, tableOf } from './table.ts';

const SHARES: readonly Share[] = [1, 0.1];

const { values: options, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    docs: { type: 'boolean', default: false },
    tenth: { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
});
const unknown = asked.filter((name) => !Object.hasOwn(SUBJECTS, name));
if (unknown.length > 0) {
  throw new Error(`no such subject: ${unknown.join(', ')}; there are ${Object.keys(SUBJECTS).join(', ')}`);
}

if (options.docs && (asked.length > 0 || options.tenth)) {
  throw new Error('--docs replaces the whole table: it goes with no names and no --tenth');
}

/** Of load, for a subject that has it by the minute: the whole time is for who asks for it by name. */
const minutes = Number(options.minutes ?? (asked.includes('load-then-rest') ? 10 : 1));

const date = new Date().toISOString();
const loadBefore = loadavg();
const rows: Measured[] = [];
for (const [name, subject] of Object.entries(SUBJECTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const bySize: Measured[][] = [];
  for (const share of options.tenth ? SHARES.slice(1) : SHARES) {
    const began = performance.now();
    const loaded = subject.isLoadedForMinutes === true ? minutes * share * 60 : 0;
    const measured = await measure(name, share, subject.seconds + loaded);
    bySize.push(measured.map((row) => ({ subject: name, share, ...row })));
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    process.stderr.write(`${name}, ${share === 1 ? 'full size' : 'a tenth'}: ${seconds} s\n`);
    for (const row of measured) process.stderr.write(`  ${row.what}: ${row.measured}\n`);
  }
  rows.push(...bySize.flat());
}

process.stdout.write(tableOf(rows));
const machine: Result['machine'] = {
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  memory: totalmem(),
  load: { before: loadBefore, after: loadavg() },
};
await mkdir('bench/results', { recursive: true });
const file = `bench/results/${date.slice(0, 19).replaceAll(':', '')}.json`;
await writeFile(file, `${JSON.stringify({ date, machine, rows } satisfies Result, null, 2)}\n`);
process.stdout.write(`\n${file}\n`);
if (options.docs) await putIntoDocs({ date, machine, rows });

/** What fails is a line of the table too: the rest is still worth having. */
async function measure(name: string, share: Share, seconds: number): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  const child = spawn(process.execPath, ['bench/measure.ts', name, String(share), String(minutes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own: whatever it starts is ended with it.
    detached: true,
    env: { ...process.env, TMPDIR: folder },
  });
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  process.once('SIGINT', end);
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    end();
  }, seconds * 1000);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const printed = await text(child.stdout);
  const code = await exited;
  clearTimeout(late);
  process.off('SIGINT', end);
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  if (code === 0) return JSON.parse(printed) as Row[];
  process.exitCode = 1;
  const why = isLate ? `not done in ${seconds} s` : `failed with ${code}: standard error says why`;
  return [{ what: name, measured: why, goal: { text: 'a figure', reached: false } }];
}
