import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failed, paged, playedProvider, told } from '../../test/support/git-providers/played.ts';
import type { ProviderName } from '../contract/providers.ts';
import { ServiceError } from '../errors.ts';
import type { ProviderFailure } from '../git/answer.ts';
import type { AskableProvider, GitProvider, Repository } from '../git/git-provider.ts';
import { Secret } from '../secrets/secret.ts';
import type { RunToken } from '../settings/run-settings.ts';
import { UserRepositories } from './user-repositories.ts';

const ann = { userId: 'ann', userName: 'ann', keyId: 'k' };
const never = new AbortController().signal;

const tokenOf = (provider: ProviderName, token = 'tok', host = ''): RunToken => ({
  provider,
  host,
  login: null,
  token: new Secret(token),
});

/** The service of users whose providers play as told; `tokens` are those of all users, and may be exchanged. */
function serviceOf(plays: Partial<Record<AskableProvider, Partial<GitProvider>>>, ...more: RunToken[]) {
  const tokens = [...(Object.keys(plays) as AskableProvider[]).map((provider) => tokenOf(provider)), ...more];
  const stage = { clock: 0, suggestsTasks: true, tokens };
  const service = new UserRepositories({
    access: () => Promise.resolve(stage),
    open: ({ provider }) =>
      provider === 'enterprise_sso' ? null : playedProvider(provider, plays[provider]),
    now: () => stage.clock,
  });
  return Object.assign(stage, { service });
}

const repository = (fullName: string, more: Partial<Repository> = {}): Repository => ({
  id: fullName,
  fullName,
  isPublic: true,
  defaultBranch: 'main',
  stars: null,
  pushedAt: null,
  ownerType: null,
  ...more,
});

const user = (login: string) =>
  told({ id: '1', login, name: null, email: null, company: null, avatarUrl: null });

async function errorOf(promise: Promise<unknown>): Promise<ServiceError> {
  const error = await promise.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

describe('who one is', () => {
  it('is what the first provider says that answers; the others that do not are named', async () => {
    const { service } = serviceOf({
      github: { whoAmI: failed('expired', 'the token has expired') },
      gitlab: { whoAmI: user('ann-lab') },
      forgejo: { whoAmI: user('ann-forge') },
    });
    const { value, failures } = await service.whoAmI(ann, never);
    assert.deepEqual([value.login, value.avatar_url], ['ann-lab', '']);
    assert.deepEqual(failures, [
      { provider: 'github', code: 'provider_token_refused', detail: 'The token has expired.', until: null },
    ]);
  });

  it('is unknown without a token, and with one that is for git alone: the error says what to do', async () => {
    for (const stage of [serviceOf({}), serviceOf({}, tokenOf('enterprise_sso'))]) {
      const error = await errorOf(stage.service.whoAmI(ann, never));
      assert.deepEqual([error.code, error.status], ['git_token_required', 401]);
      assert.match(error.message, /POST \/api\/add-git-providers/);
    }
  });
});

describe('a failure of all providers', () => {
  const kinds: [ProviderFailure, string, number][] = [
    [{ kind: 'no_token', message: 'm' }, 'git_token_required', 401],
    [{ kind: 'refused', message: 'm' }, 'provider_token_refused', 401],
    [{ kind: 'expired', message: 'm' }, 'provider_token_refused', 401],
    [{ kind: 'without_scope', message: 'm', needs: null }, 'provider_forbidden', 403],
    [{ kind: 'not_found', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'too_large', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'rejected', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'rate_limited', message: 'm', until: null }, 'provider_rate_limited', 429],
    [{ kind: 'unavailable', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'certificate', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'not_allowed', message: 'm' }, 'provider_unavailable', 424],
    [{ kind: 'unexpected', message: 'm' }, 'provider_unavailable', 424],
  ];
  it('is an error of the table, and never a fault of ours', async () => {
    for (const [failure, code, status] of kinds) {
      const { service } = serviceOf({ github: { whoAmI: () => Promise.resolve(failure) } });
      const error = await errorOf(service.whoAmI(ann, never));
      assert.deepEqual([error.code, error.status, error.message], [code, status, 'M.'], failure.kind);
    }
  });

  it('says when a provider may be asked again', async () => {
    const until = new Date(Date.now() + 90_000);
    const limited = { kind: 'rate_limited', message: 'slow down', until } as const;
    const { service } = serviceOf({ github: { owners: () => Promise.resolve(limited) } });
    const { retryAfter = 0 } = await errorOf(service.owners(ann, 'github', never));
    assert.ok(retryAfter > 0 && retryAfter <= 90);
  });

  it('names every one of them, and speaks of the one that a person can do most about', async () => {
    const { service } = serviceOf({
      github: { branches: failed('not_found', 'no such repository') },
      gitlab: { branches: failed('refused', 'store another token') },
    });
    const of = { repository: 'acme/app', query: null, selected: undefined };
    const error = await errorOf(service.branches(ann, of, null, never));
    assert.deepEqual([error.code, error.message], ['provider_token_refused', 'Store another token.']);
    assert.deepEqual(error.errors, [
      { loc: ['provider', 'github'], msg: 'No such repository.', type: 'repository_not_found' },
      { loc: ['provider', 'gitlab'], msg: 'Store another token.', type: 'provider_token_refused' },
    ]);
  });
});

describe('repositories', () => {
  it('of several providers stand in one list, newest first; who fails is named', async () => {
    const { service } = serviceOf({
      github: {
        repositories: paged([
          repository('a/new', { pushedAt: '2026-03-03T00:00:00Z' }),
          repository('a/old', { pushedAt: '2026-01-01T00:00:00Z' }),
        ]),
      },
      gitlab: { repositories: paged([repository('b/mid', { pushedAt: '2026-02-02T02:00:00+02:00' })], true) },
      bitbucket: { repositories: failed('unavailable') },
      forgejo: { repositories: paged([repository('d/odd', { pushedAt: 'yesterday' })]) },
    });
    const { value, failures } = await service.repositories(ann, {}, { page: 1, perPage: 2 }, never);
    assert.deepEqual(
      value.items.map(({ full_name, git_provider }) => `${git_provider} ${full_name}`),
      ['github a/new', 'gitlab b/mid', 'github a/old', 'forgejo d/odd'],
    );
    assert.equal(value.more, true);
    assert.deepEqual(
      failures.map(({ provider, code }) => [provider, code]),
      [['bitbucket', 'provider_unavailable']],
    );
  });

  it('of one provider alone are asked of nobody else; without its token one is told so', async () => {
    const { service } = serviceOf({
      github: { repositories: () => assert.fail('it was asked') },
      gitlab: { repositories: paged([repository('b/c')]) },
    });
    const { value } = await service.repositories(ann, { selected_provider: 'gitlab' }, null, never);
    assert.deepEqual(
      value.items.map(({ full_name }) => full_name),
      ['b/c'],
    );
    const error = await errorOf(service.repositories(ann, { selected_provider: 'forgejo' }, null, never));
    assert.deepEqual([error.code, error.status], ['git_token_required', 401]);
    assert.match(error.message, /forgejo/);
  });

  it('of a token that is for git alone are none', async () => {
    const { service } = serviceOf({}, tokenOf('enterprise_sso'));
    assert.deepEqual((await service.repositories(ann, {}, null, never)).value.items, []);
  });

  it('are kept for a minute, and asked for anew when a token changes or its host', async () => {
    let asked = 0;
    const stage = serviceOf({
      github: {
        repositories: () => {
          asked += 1;
          return paged([repository(`a/${asked}`)])();
        },
      },
    });
    const first = async (of = ann) =>
      (await stage.service.repositories(of, {}, null, never)).value.items[0]?.full_name;
    assert.deepEqual([await first(), await first()], ['a/1', 'a/1']);
    assert.equal(await first({ ...ann, userId: 'bob' }), 'a/2');
    stage.clock = 60_000;
    assert.equal(await first(), 'a/3');
    stage.tokens = [tokenOf('github', 'another')];
    assert.equal(await first(), 'a/4');
    stage.tokens = [tokenOf('github', 'another', 'ghe.example.com')];
    assert.equal(await first(), 'a/5');
    stage.tokens = [...stage.tokens, tokenOf('gitlab')];
    assert.equal(await first(), 'a/6');
    stage.tokens = [];
    assert.equal((await errorOf(first())).code, 'git_token_required');
  });

  it('that a provider could not add to are not kept', async () => {
    let asked = 0;
    const { service } = serviceOf({
      github: { repositories: paged([repository('a/b')]) },
      gitlab: {
        repositories: () => {
          asked += 1;
          return asked === 1 ? failed('unavailable')() : paged([repository('c/d')])();
        },
      },
    });
    assert.equal((await service.repositories(ann, {}, null, never)).value.items.length, 1);
    assert.equal((await service.repositories(ann, {}, null, never)).value.items.length, 2);
    await service.repositories(ann, {}, null, never);
    assert.equal(asked, 2);
  });

  it('are found by an address at the provider whose address it is', async () => {
    const { service } = serviceOf({
      github: {
        repository: (name) => told(repository(name))(),
        searchRepositories: () => assert.fail('it was searched'),
      },
      gitlab: { repository: () => assert.fail('it was asked') },
    });
    const search = async (query: string) => (await service.search(ann, { query }, never)).value.items;
    assert.deepEqual(
      (await search('https://github.com/acme/app.git')).map(({ full_name }) => full_name),
      ['acme/app'],
    );
    assert.deepEqual(await search('https://elsewhere.example/acme/app'), []);
  });
});

describe('branches', () => {
  const branch = { name: 'main', commit: 'c', isProtected: true, pushedAt: null };

  it('are those of the first provider that has the repository; that others do not have it is no failure', async () => {
    const { service } = serviceOf({
      github: { branches: failed('not_found') },
      gitlab: { branches: failed('unavailable') },
      forgejo: { branches: paged([branch]) },
    });
    const of = { repository: 'acme/app', query: null, selected: undefined };
    const { value, failures } = await service.branches(ann, of, null, never);
    assert.deepEqual(value.items, [{ name: 'main', commit_sha: 'c', protected: true, last_push_date: null }]);
    assert.deepEqual(
      failures.map(({ provider }) => provider),
      ['gitlab'],
    );
  });

  it('of a repository that nobody has are 404', async () => {
    const { service } = serviceOf({ github: { branches: failed('not_found') } });
    const of = { repository: 'acme/none', query: null, selected: undefined };
    assert.equal((await errorOf(service.branches(ann, of, null, never))).code, 'repository_not_found');
  });
});

describe('microagents', () => {
  const entry = (path: string, kind: 'file' | 'folder' = 'file') => ({
    name: path.split('/').at(-1) ?? '',
    path,
    kind,
  });
  const folders =
    (byPath: Readonly<Record<string, ReturnType<typeof entry>[]>>) => (_: string, path: string) => {
      const listed = byPath[path];
      return listed ? told(listed)() : failed('not_found')();
    };

  it('are the files of the folder, and what else is told to any agent', async () => {
    const { service } = serviceOf({
      github: {
        repository: told(repository('acme/app', { pushedAt: '2026-03-03T10:00:00+02:00' })),
        folder: folders({
          '.openhands/microagents': [
            entry('.openhands/microagents/testing.md'),
            entry('.openhands/microagents/data.json'),
            entry('.openhands/microagents/sub.md', 'folder'),
          ],
          '': [entry('AGENTS.md'), entry('README.md'), entry('.cursorrules')],
        }),
      },
    });
    const { value } = await service.microagents(ann, 'acme/app', never);
    assert.deepEqual(
      value.map(({ name, path }) => [name, path]),
      [
        ['testing', '.openhands/microagents/testing.md'],
        ['AGENTS.md', 'AGENTS.md'],
        ['.cursorrules', '.cursorrules'],
      ],
    );
    assert.equal(value[0]?.created_at, '2026-03-03T08:00:00.000Z');
  });

  it('lie in another folder of the repository that holds nothing else, by the name it has there', async () => {
    const plays = {
      repository: told(repository('x')),
      folder: folders({ microagents: [entry('microagents/a.md')] }),
    };
    const namesIn = async (provider: AskableProvider, name: string) =>
      (await serviceOf({ [provider]: plays }).service.microagents(ann, name, never)).value.map(
        (one) => one.name,
      );
    assert.deepEqual(await namesIn('github', 'acme/.openhands'), ['a']);
    assert.deepEqual(await namesIn('gitlab', 'acme/openhands-config'), ['a']);
    assert.deepEqual(await namesIn('gitlab', 'acme/.openhands'), []);
    assert.deepEqual(await namesIn('github', 'acme/app'), []);
  });

  it('of a repository that is not there are 404; a folder that could not be read is no empty one', async () => {
    const none = serviceOf({ github: { repository: failed('not_found'), folder: failed('not_found') } });
    const missing = await errorOf(none.service.microagents(ann, 'acme/none', never));
    assert.equal(missing.code, 'repository_not_found');
    const broken = serviceOf({
      github: { repository: told(repository('x')), folder: failed('unavailable') },
    });
    const failure = await errorOf(broken.service.microagents(ann, 'acme/app', never));
    assert.equal(failure.code, 'provider_unavailable');
  });

  it('are read as agents are told them', async () => {
    const content = '---\nname: t\ntriggers:\n  - tests\n---\nRun them.\n';
    const { service } = serviceOf({ forgejo: { file: (_, path) => told({ path, content })() } });
    assert.deepEqual((await service.microagent(ann, 'acme/app', 'a.md', never)).value, {
      content: 'Run them.',
      path: 'a.md',
      triggers: ['tests'],
      git_provider: 'forgejo',
    });
    const { service: without } = serviceOf({ forgejo: { file: failed('not_found') } });
    assert.equal((await errorOf(without.microagent(ann, 'a/b', 'a.md', never))).code, 'file_not_found');
    const { service: large } = serviceOf({ forgejo: { file: failed('too_large') } });
    assert.equal((await errorOf(large.microagent(ann, 'a/b', 'a.md', never))).status, 413);
  });
});

describe('suggested tasks', () => {
  const request = (number: number, more: object = {}) => ({
    repository: 'acme/app',
    number,
    title: 'T',
    hasConflicts: false,
    hasFailingChecks: false,
    hasUnresolvedComments: false,
    ...more,
  });

  it('are what keeps own requests from being merged, the first of it, and assigned issues, of all providers', async () => {
    const { service } = serviceOf({
      github: {
        ownPullRequests: told([
          request(1, { hasConflicts: true, hasFailingChecks: true, hasUnresolvedComments: true }),
          request(2, { hasFailingChecks: true, hasUnresolvedComments: true }),
          request(3, { hasUnresolvedComments: true }),
          request(4),
        ]),
        assignedIssues: told([{ repository: 'acme/app', number: 5, title: 'I' }]),
      },
      gitlab: { ownPullRequests: told([request(6, { hasConflicts: true })]), assignedIssues: told([]) },
    });
    const { value, failures } = await service.suggestedTasks(ann, never);
    assert.deepEqual(
      value.map((task) => [task.git_provider, task.task_type, task.issue_number]),
      [
        ['github', 'MERGE_CONFLICTS', 1],
        ['github', 'FAILING_CHECKS', 2],
        ['github', 'UNRESOLVED_COMMENTS', 3],
        ['github', 'OPEN_ISSUE', 5],
        ['gitlab', 'MERGE_CONFLICTS', 6],
      ],
    );
    assert.deepEqual(failures, []);
  });

  it('of one provider, and of one of its questions, are there when another fails, which is named once', async () => {
    const { service } = serviceOf({
      github: {
        ownPullRequests: failed('unavailable'),
        assignedIssues: told([{ repository: 'a/b', number: 5, title: 'I' }]),
      },
      gitlab: { ownPullRequests: failed('refused'), assignedIssues: failed('refused') },
      // Has no issues.
      bitbucket: { ownPullRequests: told([request(7, { hasFailingChecks: true })]) },
    });
    const { value, failures } = await service.suggestedTasks(ann, never);
    assert.deepEqual(
      value.map(({ git_provider, issue_number }) => [git_provider, issue_number]),
      [
        ['github', 5],
        ['bitbucket', 7],
      ],
    );
    assert.deepEqual(
      failures.map(({ provider, code }) => [provider, code]),
      [
        ['github', 'provider_unavailable'],
        ['gitlab', 'provider_token_refused'],
      ],
    );
  });

  it('can each be given to a new conversation: a title is one line, and what none could be made of is left out', async () => {
    const issue = (repository: string, title: string) => ({ repository, number: 1, title });
    const { service } = serviceOf({
      github: {
        assignedIssues: told([
          issue('acme/app', `two\nlines\u0000 and ${'x'.repeat(2_000)}`),
          issue('../../etc/passwd', 'T'),
          { ...issue('acme/app', 'T'), number: -1 },
        ]),
        ownPullRequests: told([]),
      },
    });
    const { value } = await service.suggestedTasks(ann, never);
    assert.equal(value.length, 1);
    assert.match(value[0]?.title ?? '', /^two lines and x{50}/);
    assert.equal(value[0]?.title.length, 1_000);
  });

  it('are none, and nobody is asked, when the user does not want them', async () => {
    const stage = serviceOf({
      github: { ownPullRequests: () => assert.fail('asked'), assignedIssues: () => assert.fail('asked') },
    });
    stage.suggestsTasks = false;
    assert.deepEqual(await stage.service.suggestedTasks(ann, never), { value: [], failures: [] });
  });
});
