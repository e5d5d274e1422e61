import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../../src/events/event.ts';
import { startForge } from '../../support/git/forge.ts';
import type { GitServer } from '../../support/git/git-server.ts';
import { call, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, type View, startParley } from '../../support/parley.ts';
import { storeGitToken, storeModel } from '../../support/stored.ts';

const LOOK = 'pwd; git branch --show-current; cat a.txt';

describe('the repository of a conversation', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    forge = await startForge(
      {
        'acme/app': { files: { 'a.txt': 'main\n' }, branches: { 'feature/x': { 'a.txt': 'feature\n' } } },
        'acme/open': { files: { 'a.txt': 'public\n' }, public: true },
        'acme/foreign': {},
      },
      ['acme/app'],
    );
    model = await startModelServer(byTurn([call('execute_bash', { command: LOOK }), say('Seen.')]));
    parley = await startParley();
    await storeModel(parley, model);
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const create = async (id: string, more: object): Promise<View> => {
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      initial_user_msg: 'Look.',
      ...more,
    });
    return await parley.until(
      id,
      ({ agent_state, status }) => agent_state === 'awaiting_user_input' || status === 'ERROR',
    );
  };
  const seen = async (id: string): Promise<string[]> => {
    const ran = (await parley.events(id)).find((event) => isObservation(event, 'run'));
    return ran?.content.trim().split('\n') ?? [];
  };

  it('is cloned from its provider, on the branch that was selected', async () => {
    await create('branch', { repository: 'acme/app', git_provider: 'github', selected_branch: 'feature/x' });
    assert.deepEqual(await seen('branch'), ['/workspace/app', 'feature/x', 'feature']);
  });

  it('is on a new branch of the conversation, when none was selected', async () => {
    await create('unselected', { repository: 'acme/app' });
    assert.deepEqual(await seen('unselected'), ['/workspace/app', 'parley-unselect', 'main']);
  });

  it('needs no token when it is public', async () => {
    await create('public', { repository: 'acme/open' });
    assert.equal((await seen('public')).at(-1), 'public');
  });

  it('is that of a suggested task, whose words the agent begins with', async () => {
    const suggested_task = {
      git_provider: 'github',
      task_type: 'FAILING_CHECKS',
      repo: 'acme/app',
      issue_number: 41,
      title: 'Count from one',
    };
    await parley.ok('POST', '/api/conversations', { conversation_id: 'task', suggested_task });
    const view = (await parley.until(
      'task',
      ({ agent_state }) => agent_state === 'awaiting_user_input',
    )) as View & { trigger: string; selected_repository: string };
    assert.deepEqual([view.trigger, view.selected_repository], ['suggested_task', 'acme/app']);
    assert.deepEqual(await seen('task'), ['/workspace/app', 'parley-task', 'main']);
    const asked = JSON.stringify(model.requests.at(-1)?.body.messages);
    assert.match(asked, /Pull Request \(PR\) #41 of the repository acme\/app[^]*Count from one/);
    assert.match(asked, /GitHub Actions/);
  });

  const failures = [
    {
      what: 'a branch there is not',
      more: { repository: 'acme/app', selected_branch: 'none' },
      says: /branch/,
    },
    { what: 'a repository there is not', more: { repository: 'acme/none' }, says: /acme\/none/ },
    {
      what: 'a repository the token is not for',
      more: { repository: 'acme/foreign' },
      says: /acme\/foreign/,
    },
  ];
  for (const [n, { what, more, says }] of failures.entries()) {
    it(`that cannot be cloned is an error with the reason, and no model is asked: ${what}`, async () => {
      const before = model.requests.length;
      const { status, error } = await create(`failed-${n}`, more);
      assert.equal(status, 'ERROR');
      assert.match(error?.message ?? '', says);
      assert.notEqual(error?.hint, '');
      assert.equal(model.requests.length, before);
    });
  }
});
