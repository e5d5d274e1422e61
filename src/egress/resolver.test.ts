import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cachedResolve } from './resolver.ts';

describe('remembered name answers', () => {
  it('are given for 30 s, and then asked for again', async () => {
    let [now, asked] = [0, 0];
    const resolve = cachedResolve(
      async () => [`10.0.0.${(asked += 1)}`],
      () => now,
    );
    assert.deepEqual(await resolve('a.test'), ['10.0.0.1']);
    now = 29_999;
    assert.deepEqual(await resolve('a.test'), ['10.0.0.1']);
    assert.deepEqual(await resolve('b.test'), ['10.0.0.2']);
    now = 30_000;
    assert.deepEqual(await resolve('a.test'), ['10.0.0.3']);
  });

  it('come from one question for all who ask at once', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<string[]>();
    const resolve = cachedResolve(() => {
      asked += 1;
      return answer.promise;
    });
    const waiting = Array.from({ length: 50 }, () => resolve('a.test'));
    answer.resolve(['10.0.0.1']);
    for (const found of await Promise.all(waiting)) assert.deepEqual(found, ['10.0.0.1']);
    assert.equal(asked, 1);
  });

  it('are not kept when the question failed', async () => {
    let asked = 0;
    const resolve = cachedResolve(async () => {
      asked += 1;
      if (asked === 1) throw new Error('no such name');
      return ['10.0.0.1'];
    });
    await assert.rejects(resolve('a.test'), /no such name/);
    assert.deepEqual(await resolve('a.test'), ['10.0.0.1']);
  });

  it('are bounded: the oldest goes first', async () => {
    const asked: string[] = [];
    const resolve = cachedResolve(
      async (host) => {
        asked.push(host);
        return ['10.0.0.1'];
      },
      () => 0,
    );
    for (let i = 0; i <= 1_000; i += 1) await resolve(`${i}.test`);
    await resolve('1000.test');
    await resolve('1.test');
    assert.equal(asked.length, 1_001);
    await resolve('0.test');
    assert.equal(asked.at(-1), '0.test');
  });
});
