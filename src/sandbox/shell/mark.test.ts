import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarkScanner } from './mark.ts';
import type { Mark } from './mark.ts';
import { fc } from '../../../test/support/samples.ts';

const NONCE = '0123456789abcdef';

function scan(data: Buffer, cuts: readonly number[]): { output: Buffer; mark: Mark | null } {
  const scanner = new MarkScanner(NONCE);
  const parts: Buffer[] = [];
  const edges = [0, ...cuts.map((cut) => cut % (data.length + 1)).sort((a, b) => a - b), data.length];
  for (const [index, edge] of edges.entries()) {
    const { output, mark } = scanner.push(data.subarray(edges[index - 1] ?? 0, edge));
    parts.push(Buffer.from(output));
    if (mark) return { output: Buffer.concat(parts), mark };
  }
  return { output: Buffer.concat([...parts, scanner.flush()]), mark: null };
}

// Much of what could be mistaken for the mark.
const noise = fc
  .array(fc.constantFrom('\x1e', `\x1e${NONCE.slice(0, 7)}`, `\x1e${NONCE}`, NONCE, ' ', 'x', '\0', '\n'), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''))
  .filter((text) => !text.includes(`\x1e${NONCE} `));

test('output before the mark is exact, wherever the chunks are cut', () => {
  fc.assert(
    fc.property(noise, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
      const found = scan(Buffer.from(`${text}\x1e${NONCE} 130 /a b\nc\0late`), cuts);
      assert.deepEqual(found, { output: Buffer.from(text), mark: { exitCode: 130, cwd: '/a b\nc' } });
    }),
  );
});

test('without a mark everything is output', () => {
  fc.assert(
    fc.property(noise, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
      assert.deepEqual(scan(Buffer.from(text), cuts), { output: Buffer.from(text), mark: null });
    }),
  );
});

test('a mark without a directory says so, and one that never ends is cut off', () => {
  assert.deepEqual(scan(Buffer.from(`\x1e${NONCE} 0 \0`), []).mark, { exitCode: 0, cwd: null });
  assert.equal(scan(Buffer.from(`\x1e${NONCE} 0 /${'x'.repeat(9000)}`), []).mark?.exitCode, 0);
});
