import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { never } from '../../../test/conformance/git-provider-under.ts';
import { askingOf } from '../../../test/support/git/providers/asking.ts';
import { githubLimit, startGithub } from '../../../test/support/git/providers/github.ts';

testGitProvider({
  provider: 'github',
  start: startGithub,
  path: '',
  apis: ['/api/v3/', '/api/graphql'],
  fullName: (name) => name,
  limit: githubLimit,
  knowsUntil: true,
  knowsExpired: false,
  knowsStars: true,
  hasIssues: true,
  scope: /issues=write/,
});

describe('github alone', () => {
  const BRANCHES = Array.from({ length: 250 }, (_, n) => `fix/${String(n).padStart(3, '0')}`);

  it('looks for branches hundred by hundred, as far as the page lies', async () => {
    const search = (page: number) =>
      askingOf(
        'github',
        ({ body }) => {
          const { after } = (body as { variables: { after: string | null } }).variables;
          const start = Number(after ?? 0);
          const nodes = BRANCHES.slice(start, start + 100).map((name) => ({
            name,
            target: { oid: 'a'.repeat(40) },
            branchProtectionRule: null,
          }));
          const pageInfo = { hasNextPage: start + 100 < BRANCHES.length, endCursor: String(start + 100) };
          return {
            body: { data: { repository: { refs: { totalCount: BRANCHES.length, pageInfo, nodes } } } },
          };
        },
        (of) => of.branches('acme/app', { page, perPage: 30, query: 'fix' }, never),
      );
    const seen: string[] = [];
    for (let page = 1; ; page += 1) {
      const { answer, asked } = await search(page);
      assert.ok(answer.kind === 'ok');
      assert.equal(answer.value.total, BRANCHES.length);
      assert.ok(asked.length <= Math.floor((page * 30) / 100) + 1);
      seen.push(...answer.value.items.map(({ name }) => name));
      if (!answer.value.more) break;
    }
    assert.deepEqual(seen, BRANCHES);
  });

  it('says with status 200, too, that it failed', async () => {
    for (const [type, kind] of [
      ['RATE_LIMITED', 'rate_limited'],
      ['INSUFFICIENT_SCOPES', 'without_scope'],
      ['NOT_FOUND', 'not_found'],
      ['SOMETHING', 'unexpected'],
    ] as const) {
      const { answer } = await askingOf(
        'github',
        () => ({ body: { errors: [{ type, message: 'No' }] } }),
        (of) => of.ownPullRequests(never),
      );
      assert.equal(answer.kind, kind);
    }
  });

  it('is asked for words: what would be a command of its search is none', async () => {
    for (const [query, q] of [
      ['app', 'app in:name'],
      ['app org:other fork:true', 'app org other fork true in:name'],
      ['"app"', 'app in:name'],
      ['acme/app', 'app in:name user:acme'],
      ['acme/', 'in:name user:acme'],
    ] as const) {
      const { asked } = await askingOf(
        'github',
        () => ({ body: { total_count: 0, items: [] } }),
        (of) => of.searchRepositories({ query, page: 1, perPage: 5, sort: 'stars', order: 'desc' }, never),
      );
      assert.equal(asked[0]?.query.get('q'), q);
    }
  });

  it('has found nothing when the owner is not there, and asks for nothing without a word', async () => {
    for (const query of ['absent/app', ' ?? ']) {
      const { answer, asked } = await askingOf(
        'github',
        () => ({ status: 422, body: { message: 'The listed users cannot be searched' } }),
        (of) => of.searchRepositories({ query, page: 1, perPage: 5, sort: 'stars', order: 'desc' }, never),
      );
      assert.deepEqual(answer, { kind: 'ok', value: { items: [], more: false, total: 0 } });
      assert.equal(asked.length, query === 'absent/app' ? 1 : 0);
    }
  });
});
