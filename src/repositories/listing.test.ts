import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, ok } from '../git/answer.ts';
import type { Page, PageOf } from '../git/git-provider.ts';
import { list } from './listing.ts';

const never = new AbortController().signal;

/** Asks for a list that goes on for so many pages of one entry. */
function pages(count: number, failsAt = Infinity) {
  const asked: PageOf[] = [];
  const ask = (which: PageOf): Promise<Answer<Page<number>>> => {
    asked.push(which);
    if (which.page === failsAt) return Promise.resolve({ kind: 'unavailable', message: 'gone' });
    return Promise.resolve(ok({ items: [which.page], more: which.page < count, total: null }));
  };
  return { asked, ask };
}

describe('a list', () => {
  it('is the page that is asked for', async () => {
    const { asked, ask } = pages(5);
    const answer = await list(ask, { page: 2, perPage: 7 }, never);
    assert.deepEqual(answer, ok({ items: [2], more: true, total: null }));
    assert.deepEqual(asked, [{ page: 2, perPage: 7 }]);
  });

  it('without a page is all of it', async () => {
    const answer = await list(pages(3).ask, null, never);
    assert.deepEqual(answer, ok({ items: [1, 2, 3], more: false, total: 3 }));
  });

  it('ends after ten pages, and says that there is more', async () => {
    const { asked, ask } = pages(1_000);
    const answer = await list(ask, null, never);
    assert.ok(answer.kind === 'ok' && answer.value.more);
    assert.equal(answer.value.items.length, 10);
    assert.ok(asked.every(({ perPage }) => perPage === 100));
  });

  it('keeps what it has when a later page fails; when the first does, it fails', async () => {
    assert.deepEqual(
      await list(pages(5, 3).ask, null, never),
      ok({ items: [1, 2], more: true, total: null }),
    );
    assert.equal((await list(pages(5, 1).ask, null, never)).kind, 'unavailable');
  });

  it('ends when whoever wants it has gone', async () => {
    const gone = new AbortController();
    const asking = list(
      (_which, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          gone.abort(new Error('gone'));
        }),
      null,
      gone.signal,
    );
    await assert.rejects(asking, /gone/);
  });
});
