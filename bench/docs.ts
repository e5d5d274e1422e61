/** Puts the table of a kept result into docs/performance.md: `node bench/docs.ts bench/results/<date>.json`. */
import { readFile, writeFile } from 'node:fs/promises';
import { type Measured, tableOf } from './table.ts';

const PAGE = 'docs/performance.md';
const BEGIN = '<!-- table -->\n';
const END = '<!-- end of table -->\n';

/** What a run of the bench keeps. */
export interface Result {
  date: string;
  machine: {
    node: string;
    cpu: string | undefined;
    cores: number;
    /** Bytes. */
    memory: number;
    /** Processes that wanted a core, on average of one, five and fifteen minutes. */
    load: { before: number[]; after: number[] };
  };
  rows: Measured[];
}

export async function putIntoDocs({ date, machine, rows }: Result): Promise<void> {
  const [before, rest] = (await readFile(PAGE, 'utf8')).split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no place for the table`);
  const where = `${machine.cores} cores (${machine.cpu}) and ${Math.round(machine.memory / 2 ** 30)} GiB of memory`;
  const [load] = machine.load.before;
  const others = `the load of the machine was ${load?.toFixed(1)} when it began.`;
  const when = `Measured ${date.slice(0, 10)} with Node ${machine.node} on ${where}; ${others}\n\n`;
  await writeFile(PAGE, `${before}${BEGIN}${when}${tableOf(rows)}${END}${after}`);
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error('which result? bench/results/<date>.json');
  await putIntoDocs(JSON.parse(await readFile(file, 'utf8')) as Result);
}
