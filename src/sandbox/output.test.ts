import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CappedOutput } from './output.ts';
import { fc } from '../../test/support/samples.ts';

const collect = (cap: number, chunks: readonly Uint8Array[]): CappedOutput => {
  const output = new CappedOutput(cap);
  for (const chunk of chunks) output.push(chunk);
  return output;
};

test('what fits is given as it came', () => {
  assert.equal(collect(10, [Buffer.from('ab'), Buffer.from('cdefghij')]).text(), 'abcdefghij');
  assert.equal(new CappedOutput(10).text(), '');
});

test('of what does not fit, the middle is cut and counted', () => {
  assert.equal(
    collect(10, [Buffer.from('0123456789abcdef')]).text(),
    '01234\n[... 6 bytes of output cut out here ...]\nbcdef',
  );
});

test('no character is halved by the cut', () => {
  const text = collect(10, [Buffer.from('ä'.repeat(10))]).text();
  assert.equal(text, 'ää\n[... 12 bytes of output cut out here ...]\nää');
});

test('bytes that are no text do not fail', () => {
  assert.equal(collect(10, [Uint8Array.of(0xff, 0x61)]).text(), '\uFFFDa');
});

test('however it is split into chunks, the same is kept', () => {
  const bytes = fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => Buffer.from(text));
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 8 }), fc.integer({ min: 2, max: 40 }), (chunks, cap) => {
      const whole = Buffer.concat(chunks);
      const output = collect(cap, chunks);
      assert.equal(output.length, whole.length);
      assert.equal(output.text(), collect(cap, [whole]).text());
      const cut = /\n\[\.\.\. (\d+) bytes of output cut out here \.\.\.\]\n/.exec(output.text());
      if (whole.length <= cap) assert.equal(output.text(), whole.toString());
      else
        assert.equal(
          Buffer.byteLength(output.text().replace(cut?.[0] ?? '', '')) + Number(cut?.[1]),
          whole.length,
        );
    }),
  );
});
