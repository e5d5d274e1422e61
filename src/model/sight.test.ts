import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from './failure.ts';
import { type Message, userText } from './message.ts';
import { showsImages, Sight } from './sight.ts';

const refusal = (statusCode: number, message: string, images = true) =>
  failureOf(Object.assign(new Error(message), { statusCode }), { begun: false, key: null, images });

test('servers say in many ways that their model takes no images', () => {
  for (const [status, message] of [
    [400, 'Invalid content type. image_url is only supported by certain models.'],
    [404, 'No endpoints found that support image input'],
    [400, 'llama-3 is not a multimodal model'],
    [500, 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj'],
    [400, 'Image input is not enabled for this model'],
    [
      400,
      "'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a valid string)]",
    ],
    [400, 'unknown variant `image_url`, expected `text`'],
    [400, 'messages[0].content must be a string'],
    [400, 'Unable to download the file. Please verify the URL and try again.'],
    [400, 'Could not process image'],
  ] as const) {
    assert.equal(refusal(status, message).unseen?.url, null, message);
    assert.equal(refusal(status, message, false).unseen, undefined, `${message}, without images`);
  }
  for (const [status, message] of [
    [401, 'Incorrect API key: image'],
    [429, 'Too many images this minute'],
    [503, 'The image server is overloaded'],
    [400, 'max_tokens is too large'],
  ] as const) {
    assert.equal(refusal(status, message).unseen, undefined, message);
  }
});

const image = (url: string) => ({
  type: 'file' as const,
  data: { type: 'url' as const, url: new URL(url) },
  mediaType: 'image',
});
const MESSAGES: Message[] = [
  {
    role: 'user',
    content: [{ type: 'text', text: 'Two:' }, image('https://a.example/1'), image('https://a.example/2')],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
  userText('Thanks.'),
];

test('a text stands in the place of what is not seen, and nothing else changes', () => {
  const sight = new Sight();
  assert.deepEqual(sight.shown(MESSAGES), MESSAGES);
  assert.ok(sight.learn({ url: 'https://a.example/1', reason: 'gone' }));
  const [first, ...rest] = sight.shown(MESSAGES);
  assert.equal(sight.shown(MESSAGES)[0], first, 'the same object each time');
  assert.deepEqual(rest, MESSAGES.slice(1));
  assert.ok(showsImages(sight.shown(MESSAGES)));
  assert.deepEqual(Array.isArray(first?.content) && first.content.map(({ type }) => type), [
    'text',
    'text',
    'file',
  ]);
  assert.ok(sight.learn({ url: null, reason: 'blind' }));
  assert.ok(!showsImages(sight.shown(MESSAGES)));
  assert.equal(
    sight.shown(MESSAGES)[0]?.content.length,
    1,
    'one text: who takes no images may take no parts',
  );
  assert.deepEqual(sight.notices, ['gone', 'blind']);
});

test('what is known already is no reason to ask again', () => {
  const sight = new Sight();
  assert.ok(sight.learn({ url: null, reason: 'blind' }));
  assert.ok(!sight.learn({ url: null, reason: 'blind' }));
});
