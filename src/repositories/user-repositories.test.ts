import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failed, paged, told } from '../../test/support/git/providers/played.ts';
import {
  ann,
  errorOf,
  never,
  repository,
  serviceOf,
  tokenOf,
  user,
} from '../../test/support/git/user-repositories.ts';
import type { ProviderFailure } from '../git/answer.ts';

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

  it('is told though a provider before the one that says so hangs, which is named and told to stop', async () => {
    const stopped = Promise.withResolvers<void>();
    const { service } = serviceOf({
      github: {
        whoAmI: (signal) => {
          signal.addEventListener('abort', () => stopped.resolve());
          return new Promise(() => {});
        },
      },
      gitlab: { whoAmI: failed('unavailable') },
      forgejo: { whoAmI: user('ann-forge') },
    });
    const { value, failures } = await service.whoAmI(ann, never);
    assert.equal(value.login, 'ann-forge');
    assert.deepEqual(
      failures.map(({ provider, code }) => [provider, code]),
      [
        ['github', 'provider_unavailable'],
        ['gitlab', 'provider_unavailable'],
      ],
    );
    assert.match(failures[0]?.detail ?? '', /^It had not answered 1 s after another provider/);
    await stopped.promise;
  });

  it('is unknown without a token, and with one that is for git alone: the error says what to do', async () => {
    for (const stage of [serviceOf({}), serviceOf({}, tokenOf('enterprise_sso'))]) {
      const error = await errorOf(stage.service.whoAmI(ann, never));
      assert.deepEqual([error.code, error.status], ['git_token_required', 401]);
      assert.match(error.message, /POST \/api\/add-git-providers/);
    }
  });
});

describe('several providers', () => {
  it('are asked side by side', async () => {
    const both = Promise.withResolvers<void>();
    let asked = 0;
    const repositories = async () => {
      asked += 1;
      if (asked === 2) both.resolve();
      await both.promise;
      return await paged([repository('a/b')])();
    };
    const { service } = serviceOf({ github: { repositories }, gitlab: { repositories } });
    const { value } = await service.repositories(ann, {}, { page: 1, perPage: 5 }, never);
    assert.equal(value.items.length, 2);
  });

  it('are not waited for once one before them has what is asked for, and are told to stop', async () => {
    const stopped = Promise.withResolvers<void>();
    const { service } = serviceOf({
      github: { whoAmI: failed('unavailable') },
      gitlab: { whoAmI: user('ann') },
      forgejo: {
        whoAmI: (signal) => {
          signal.addEventListener('abort', () => stopped.resolve());
          return new Promise(() => {});
        },
      },
    });
    const { value, failures } = await service.whoAmI(ann, never);
    assert.deepEqual([value.login, failures.length], ['ann', 1]);
    await stopped.promise;
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

  it('is 401 only when no token may still be good: pages of V0 then remove all', async () => {
    const statusOf = async (...kinds: Parameters<typeof failed>[0][]) => {
      const [github, gitlab] = kinds.map((kind) => ({ whoAmI: failed(kind) }));
      const { service } = serviceOf({ ...(github && { github }), ...(gitlab && { gitlab }) });
      return (await errorOf(service.whoAmI(ann, never))).status;
    };
    assert.equal(await statusOf('refused', 'expired'), 401);
    assert.equal(await statusOf('refused', 'unavailable'), 424);
    assert.equal(await statusOf('certificate', 'expired'), 424);
  });

  it('names every one of them, and speaks of the one that may pass soonest', async () => {
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

  it('are asked for with the tokens for which they are kept, though these change meanwhile', async () => {
    const stage = serviceOf({
      github: { repositories: paged([repository('a/before')]) },
      gitlab: { repositories: paged([repository('a/after')]) },
    });
    const [before, ...after] = stage.tokens;
    let reads = 0;
    Object.defineProperty(stage, 'tokens', { get: () => ((reads += 1) === 1 ? [before] : after) });
    const { value } = await stage.service.repositories(ann, {}, null, never);
    assert.deepEqual(
      value.items.map(({ full_name }) => full_name),
      ['a/before'],
    );
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

describe('requests of one user', () => {
  it('are answered ten at once; more are told to wait, those of others are not', async () => {
    const answers: (() => void)[] = [];
    const { service } = serviceOf({
      github: {
        whoAmI: () => new Promise((resolve) => answers.push(() => void user('ann')().then(resolve))),
      },
    });
    const bob = { ...ann, userId: 'bob' };
    const asked = Array.from({ length: 10 }, () => service.whoAmI(ann, never));
    const refused = await errorOf(service.whoAmI(ann, never));
    assert.deepEqual([refused.code, refused.retryAfter], ['rate_limited', 1]);
    const his = service.whoAmI(bob, never);
    await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers) answer();
    await Promise.all([...asked, his]);
    const again = service.whoAmI(ann, never);
    await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers) answer();
    assert.equal((await again).value.login, 'ann');
  });
});
