/** Measures one subject at one size, `NAME SHARE MINUTES`, and prints its lines of the table as JSON. See `bench.ts`. */
import type { Share } from './row.ts';
import { SUBJECTS } from './subjects.ts';

const [name = '', share = '', minutes = ''] = process.argv.slice(2);
const subject = SUBJECTS[name];
if (!subject) throw new Error(`no such subject: ${name}`);
const rows = await subject.measure(Number(share) as Share, Number(minutes));
process.stdout.write(JSON.stringify(rows));
