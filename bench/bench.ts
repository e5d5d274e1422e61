/** Runs the rows named, or all, prints them as a table and keeps every number in `bench/results/<date>.json`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { firstOutputRow } from './first-output.ts';
import { conversationsRow, providersRow, settingsRow } from './operations.ts';
import type { Row } from './row.ts';

const ROWS: Record<string, () => Promise<Row>> = {
  settings: settingsRow,
  conversations: conversationsRow,
  providers: providersRow,
  'first-output': firstOutputRow,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(ROWS, name));
if (unknown.length > 0) {
  throw new Error(`no such row: ${unknown.join(', ')}; there are ${Object.keys(ROWS).join(', ')}`);
}

const loadBefore = loadavg();
const rows: Row[] = [];
for (const [name, measure] of Object.entries(ROWS)) {
  if (asked.length === 0 || asked.includes(name)) rows.push(await measure());
}

const print = (cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
print(['what', 'measured', 'limit', 'result', 'goal', '']);
print(['---', '---', '---', '---', '---', '---']);
for (const row of rows) {
  print([row.name, row.measured, row.limit, row.result, row.goal, row.reached ? 'reached' : 'NOT REACHED']);
}

const date = new Date().toISOString();
const machine = {
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: availableParallelism(),
  memory: totalmem(),
  load: { before: loadBefore, after: loadavg() },
};
await mkdir('bench/results', { recursive: true });
const file = `bench/results/${date.slice(0, 19).replaceAll(':', '')}.json`;
await writeFile(file, `${JSON.stringify({ date, machine, rows }, null, 2)}\n`);
process.stdout.write(`\n${file}\n`);
