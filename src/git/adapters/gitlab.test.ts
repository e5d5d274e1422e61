import assert from 'node:assert/strict';
import { it } from 'node:test';
import { testGitProvider } from '../../../test/conformance/git-provider.ts';
import { never } from '../../../test/conformance/git-provider-under.ts';
import { askingOf } from '../../../test/support/git/providers/asking.ts';
import { gitlabLimit, startGitlab } from '../../../test/support/git/providers/gitlab.ts';

testGitProvider({
  provider: 'gitlab',
  start: startGitlab,
  path: '/forge',
  apis: ['/forge/api/v4/', '/forge/api/graphql'],
  fullName: (name) => name,
  limit: gitlabLimit,
  knowsUntil: true,
  knowsExpired: true,
  knowsStars: true,
  hasIssues: true,
  scope: /^api$/,
});

it('gitlab: a folder is read page by page, to a thousand entries', async () => {
  const { answer, asked } = await askingOf(
    'gitlab',
    ({ query }) => {
      const page = Number(query.get('page'));
      const body = Array.from({ length: 100 }, (_, n) => {
        const name = `${page}-${n}.md`;
        return { name, path: `docs/${name}`, type: 'blob' };
      });
      return { body, headers: { 'x-next-page': String(page + 1) } };
    },
    (of) => of.folder('acme/app', 'docs', null, never),
  );
  assert.ok(answer.kind === 'ok');
  assert.deepEqual([answer.value.length, asked.length], [1_000, 10]);
});

it('gitlab: a project of many groups is one segment of the address', async () => {
  const { asked } = await askingOf(
    'gitlab',
    () => ({ status: 404 }),
    (of) => of.file('group/sub/app', 'docs/a b.md', 'feature/x', never),
  );
  assert.equal(asked[0]?.path, '/at/api/v4/projects/group%2Fsub%2Fapp/repository/files/docs%2Fa%20b.md');
  assert.equal(asked[0]?.query.get('ref'), 'feature/x');
});

it('gitlab: a job that may fail fails nothing', async () => {
  const job = (name: string, status: string, allow_failure: boolean) => ({ name, status, allow_failure });
  const { answer } = await askingOf(
    'gitlab',
    ({ path }) =>
      path.endsWith('/statuses')
        ? { body: [job('test', 'success', false), job('audit', 'failed', true)] }
        : { body: { id: 'a'.repeat(40) } },
    (of) => of.checks('acme/app', 'main', never),
  );
  assert.ok(answer.kind === 'ok');
  assert.equal(answer.value.state, 'success');
  assert.deepEqual(
    answer.value.checks.map(({ state }) => state),
    ['success', 'neutral'],
  );
});
