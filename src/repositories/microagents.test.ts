import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failed, told } from '../../test/support/git/providers/played.ts';
import { ann, errorOf, never, repository, serviceOf } from '../../test/support/git/user-repositories.ts';
import type { AskableProvider } from '../git/git-provider.ts';

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
