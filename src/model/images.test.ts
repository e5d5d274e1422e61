import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ImageError, ImageSource } from './images.ts';

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
  const wanted = (...paths: string[]) =>
    paths.map((path) => ({ url: new URL(`https://pictures.example/${path}`), isUrlSupportedByModel: false }));

  it('are fetched once in a run, but for those that the provider fetches itself', async () => {
    const source = new ImageSource(fetch);
    const [own = assert.fail(), other = assert.fail()] = wanted('1', '2');
    for (let n = 0; n < 2; n += 1) {
      const [none, image] = await source.download(signal)([{ ...own, isUrlSupportedByModel: true }, other]);
      assert.equal(none, null);
      assert.deepEqual([image?.data.byteLength, image?.mediaType], [2 * MIB, 'image/png']);
    }
    assert.deepEqual(asked, ['/2']);
  });

  it('are bounded, each and together, and say which is too much', async () => {
    const source = new ImageSource(fetch);
    const refused = (says: RegExp, path: string) => (error: unknown) =>
      error instanceof ImageError && says.test(error.message) && error.url.pathname === path;
    await assert.rejects(source.download(signal)(wanted('11')), refused(/larger than 10 MiB/, '/11'));
    const many = wanted('9', '9b', '9c', '9d', '9e', '9f');
    await assert.rejects(source.download(signal)(many), refused(/together .* 50 MiB/, '/9f'));
    await assert.rejects(source.download(signal)(wanted('x')), refused(/could not be fetched/, '/x'));
  });
});
