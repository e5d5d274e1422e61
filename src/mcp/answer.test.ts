import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cutMiddle } from '../agent/tools/text.ts';
import { boundedAnswer } from './answer.ts';

const bounded = (content: unknown[], more: object = {}) =>
  boundedAnswer({ content, isError: false, ...more }, cutMiddle);
const textsOf = (content: readonly Record<string, unknown>[]) => content.map(({ text }) => text);
const text = (value: string) => ({ type: 'text', text: value });
const image = (data = 'aGVsbG8=', mimeType = 'image/png') => ({ type: 'image', data, mimeType });

test('texts share one bound, and each cut is said', () => {
  const { content } = bounded([
    text('short'),
    text('a'.repeat(10_000_000)),
    text('b'.repeat(50_000)),
    text('end'),
  ]);
  assert.equal(content[0]?.['text'], 'short');
  assert.match(String(content[1]?.['text']), /characters left out here/);
  assert.match(String(content[2]?.['text']), /left out/);
  assert.ok(JSON.stringify(content).length < 30_000);
});

test('images that can be seen stand beside the answer, others are named', () => {
  const { content, images } = bounded([
    image(),
    image('aGVsbG8=', 'image/svg+xml'),
    image('not base64!'),
    image('A'.repeat(6_000_000)),
    { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: 'aGVsbG8=' } },
  ]);
  assert.deepEqual(images, ['data:image/png;base64,aGVsbG8=', 'data:image/png;base64,aGVsbG8=']);
  assert.deepEqual(content[0], { type: 'image', mimeType: 'image/png', data: 'image 1' });
  assert.match(String(content[1]?.['text']), /image\/svg\+xml/);
  assert.match(String(content[2]?.['text']), /not in base64/);
  assert.match(String(content[3]?.['text']), /at most/);
  assert.equal(bounded(Array.from({ length: 9 }, () => image())).images.length, 4);
});

test('what is neither text nor image is named, or said as a text', () => {
  const { content } = bounded([
    { type: 'audio', data: 'aGVsbG8=', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'file:///b', text: 'the text of b' } },
    { type: 'resource', resource: { uri: 'file:///c', blob: 'aGVsbG8=' } },
    { type: 'hologram' },
    17,
  ]);
  assert.deepEqual(textsOf(content), [
    '[a sound (audio/wav) is left out]',
    'Resource file:///a: a',
    'Resource file:///b:\nthe text of b',
    '[the resource file:///c (of no known type) is left out]',
    '[a part that is of no known kind is left out]',
    '[a part that is of no known kind is left out]',
  ]);
  assert.equal(bounded(Array.from({ length: 5_000 }, () => text('x'))).content.length, 101);
});

test('structure is told where there is no text', () => {
  const structuredContent = { sum: 3 };
  assert.deepEqual(textsOf(bounded([], { structuredContent }).content), ['{"sum":3}']);
  assert.deepEqual(textsOf(bounded([text('three')], { structuredContent }).content), ['three']);
  const deep: unknown = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000));
  assert.deepEqual(textsOf(bounded([], { structuredContent: deep }).content), [
    '[a structure is left out: it is nested too deep]',
  ]);
});
