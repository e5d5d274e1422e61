import assert from 'node:assert/strict';
import { it } from 'node:test';
import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { never } from '../../../test/conformance/git-provider-under.ts';
import { askingOf } from '../../../test/support/git/providers/asking.ts';
import { forgejoLimit, startForgejo } from '../../../test/support/git/providers/forgejo.ts';

testGitProvider({
  provider: 'forgejo',
  start: startForgejo,
  path: '/code',
  apis: ['/code/api/v1/'],
  fullName: (name) => name,
  limit: forgejoLimit,
  knowsUntil: true,
  knowsExpired: false,
  knowsStars: true,
  hasIssues: true,
  scope: /^write:issue$/,
});

it('forgejo: branches are looked for over the pages of all, and no further than needed', async () => {
  const NAMES = Array.from({ length: 120 }, (_, n) => (n % 10 === 0 ? `fix/${n}` : `other/${n}`));
  const search = (page: number) =>
    askingOf(
      'forgejo',
      ({ query }) => {
        const start = (Number(query.get('page')) - 1) * 50;
        const body = NAMES.slice(start, start + 50).map((name) => ({
          name,
          protected: false,
          commit: { id: 'a'.repeat(40) },
        }));
        const link = '<https://elsewhere.example/>; rel="next"';
        return { body, ...(start + 50 < NAMES.length && { headers: { link } }) };
      },
      (of) => of.branches('acme/app', { page, perPage: 4, query: 'FIX' }, never),
    );
  const seen: string[] = [];
  for (let page = 1; ; page += 1) {
    const { answer, asked } = await search(page);
    assert.ok(answer.kind === 'ok');
    assert.ok(page > 1 || asked.length === 1);
    seen.push(...answer.value.items.map(({ name }) => name));
    if (!answer.value.more) break;
  }
  assert.deepEqual(
    seen,
    NAMES.filter((name) => name.startsWith('fix')),
  );
});
