import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { rateScript } from './rate-script.ts';

const GROUND = { root: '/workspace', cwd: '/workspace/app' };

const FILES = new URL('../../../test/corpus/commands/', import.meta.url);
const RATINGS = ['low', 'medium', 'high'];

/** One command a line, with the lines of what it reads. */
function commands(text: string): string[] {
  const found: string[] = [];
  let within = false;
  for (const line of text.trimEnd().split('\n')) {
    if (within) found.push(`${found.pop() ?? ''}\n${line}`);
    else found.push(line);
    if (within ? line === 'EOF' : /<<'?EOF/.test(line)) within = !within;
  }
  return found;
}

const CORPUS = RATINGS.flatMap((name, risk) =>
  commands(readFileSync(new URL(`${name}.txt`, FILES), 'utf8')).map((command) => ({ command, risk })),
);

describe('the rules', () => {
  for (const { command, risk } of CORPUS) {
    it(`rate as ${RATINGS[risk]}: ${command.replaceAll('\n', '⏎')}`, () => {
      const rating = rateScript(command, GROUND);
      assert.equal(rating.risk, risk, rating.reason);
      if (risk === 2) assert.match(rating.reason, /^\S.{10,}\.$/);
    });
  }
});
