import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ImageError, ImageSource } from './images.ts';
import type { Message } from './message.ts';

const MIB = 1024 * 1024;

describe('images by address', () => {
  const asked: string[] = [];
  /** Answers with as many mebibytes as the path says. */
  const fetch: typeof globalThis.fetch = async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    asked.push(pathname);
    const [, mebibytes] = /^\/(\d+)/.exec(pathname) ?? [];
    if (mebibytes === undefined) throw new TypeError('fetch failed');
    return new Response(new Uint8Array(Number(mebibytes) * MIB), {
      headers: { 'content-type': 'image/png; x' },
    });
  };
  const { signal } = new AbortController();
  const showing = (...paths: string[]): Message[] =>
    paths.map((path) => {
      const url = new URL(`https://pictures.example/${path}`);
      return { role: 'user', content: [{ type: 'file', data: { type: 'url', url }, mediaType: 'image' }] };
    });

  it('are fetched once in a run, but for those that the provider fetches itself', async () => {
    const source = new ImageSource(fetch);
    const messages = showing('1', '2');
    const given = new Set<Message | undefined>();
    for (let n = 0; n < 2; n += 1) {
      const [own, other] = await source.fetched(messages, { 'image/*': [/\/1$/] }, signal);
      assert.deepEqual(own, messages[0]);
      const [image] = other?.role === 'user' ? other.content : [];
      assert.ok(image?.type === 'file' && image.data.type === 'data');
      assert.deepEqual([image.data.data.length, image.mediaType], [2 * MIB, 'image/png']);
      given.add(own).add(other);
    }
    assert.deepEqual(asked, ['/2']);
    assert.equal(given.size, 2, 'the same objects each time');
  });

  it('are bounded, each and together, and say which is too much', async () => {
    const source = new ImageSource(fetch);
    const refused = (says: RegExp, path: string) => (error: unknown) =>
      error instanceof ImageError && says.test(error.message) && error.url.pathname === path;
    await assert.rejects(source.fetched(showing('11'), {}, signal), refused(/larger than 10 MiB/, '/11'));
    const many = showing('9', '9b', '9c', '9d', '9e', '9f');
    await assert.rejects(source.fetched(many, {}, signal), refused(/together .* 50 MiB/, '/9f'));
    await assert.rejects(source.fetched(showing('x'), {}, signal), refused(/could not be fetched/, '/x'));
  });
});
