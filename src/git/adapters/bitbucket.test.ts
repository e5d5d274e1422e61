import assert from 'node:assert/strict';
import { it } from 'node:test';
import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { never } from '../../../test/conformance/git-provider-under.ts';
import { askingOf } from '../../../test/support/git/providers/asking.ts';
import { bitbucketLimit, startBitbucket } from '../../../test/support/git/providers/bitbucket.ts';

testGitProvider({
  provider: 'bitbucket',
  start: startBitbucket,
  path: '',
  apis: ['/2.0/'],
  fullName: (name) => name,
  limit: bitbucketLimit,
  knowsUntil: false,
  knowsExpired: true,
  knowsStars: false,
  hasIssues: false,
  scope: /^pullrequest:write$/,
});

it('bitbucket: one order over several workspaces of more than one page each', async () => {
  const NAMES = Array.from({ length: 300 }, (_, n) => `r${String(n).padStart(3, '0')}`);
  // Every third one is of another workspace.
  const ofWorkspace = (workspace: string) => NAMES.filter((_, n) => `w${n % 3}` === workspace);
  const list = (page: number) =>
    askingOf(
      'bitbucket',
      ({ path, query }) => {
        if (path.endsWith('/user/workspaces')) {
          return { body: { values: ['w0', 'w1', 'w2'].map((slug) => ({ workspace: { slug } })) } };
        }
        const names = ofWorkspace(path.split('/').at(-1) ?? '');
        const start = (Number(query.get('page')) - 1) * Number(query.get('pagelen'));
        const end = start + Number(query.get('pagelen'));
        const values = names.slice(start, end).map((name) => ({
          uuid: `{${name}}`,
          // The name alone makes the order.
          full_name: name,
          is_private: true,
        }));
        return { body: { values, ...(end < names.length && { next: 'https://elsewhere.example/' }) } };
      },
      (of) => of.repositories({ page, perPage: 40, sort: 'full_name', owner: null }, never),
    );
  const seen: string[] = [];
  for (let page = 1; ; page += 1) {
    const { answer } = await list(page);
    assert.ok(answer.kind === 'ok');
    seen.push(...answer.value.items.map(({ fullName }) => fullName));
    if (!answer.value.more) break;
  }
  assert.deepEqual(seen, NAMES);
});

it("bitbucket: a reply in a reviewer's thread is resolved with it", async () => {
  const comment = (id: number, more: object) => ({
    id,
    content: { raw: `c${id}` },
    user: null,
    created_on: '2026-03-01T10:00:00Z',
    inline: { path: 'a.ts', to: 3 },
    ...more,
  });
  const { answer } = await askingOf(
    'bitbucket',
    () => ({
      body: {
        values: [
          comment(1, { resolution: { type: 'x' } }),
          comment(2, { parent: { id: 1 } }),
          comment(3, {}),
          comment(4, { parent: { id: 3 } }),
          comment(5, { deleted: true }),
        ],
      },
    }),
    (of) => of.reviewComments('acme/app', 5, never),
  );
  assert.ok(answer.kind === 'ok');
  assert.deepEqual(
    answer.value.map(({ body, isResolved }) => [body, isResolved]),
    [
      ['c1', true],
      ['c2', true],
      ['c3', false],
      ['c4', false],
    ],
  );
});
