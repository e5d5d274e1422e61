/**
 * Runs the test files given, or all of them, two at a time. Red when a test fails, and also when one is skipped, is
 * left for later, is singled out, or when there is none: a sandbox that cannot be tested is not a sandbox.
 */
import { readFileSync, globSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const CONCURRENCY = 2;
/** Milliseconds one file may take: far more than any needs, so that a test that hangs is told instead of waited for. */
const FILE_TIMEOUT = 600_000;

const SINGLED_OUT = /\b(?:test|it|describe|suite)\.only\b|\bonly: true\b/;

const given = process.argv.slice(2);
const files = given.length > 0 ? given : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).toSorted();
const complaints: string[] = [];
for (const file of files) {
  if (SINGLED_OUT.test(readFileSync(file, 'utf8'))) complaints.push(`${file}: a test is singled out (only)`);
}

const tests = run({ files, concurrency: CONCURRENCY, timeout: FILE_TIMEOUT });
tests.on('test:pass', ({ name, file, skip, todo }) => {
  if (skip !== undefined) complaints.push(`${file}: skipped: ${name}`);
  if (todo !== undefined) complaints.push(`${file}: left for later: ${name}`);
});
tests.on('test:summary', ({ file, success, counts }) => {
  // Each file has a summary of its own; the one without a file is of all.
  if (file !== undefined) return;
  if (!success) complaints.push('a test failed');
  if (counts.tests === 0) complaints.push('there were no tests');
});
tests
  .compose(new spec())
  .on('end', () => {
    for (const complaint of complaints) process.stderr.write(`red: ${complaint}\n`);
    if (complaints.length > 0) process.exitCode = 1;
  })
  .pipe(process.stdout);
