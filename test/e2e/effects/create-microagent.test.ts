import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isAction } from '../../../src/events/event.ts';
import { startForge } from '../../support/git/forge.ts';
import type { GitServer } from '../../support/git/git-server.ts';
import { call, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeGitToken, storeModel } from '../../support/stored.ts';

const FILE = '.openhands/microagents/releases.md';
const WRITE = `mkdir -p .openhands/microagents && printf '%s\\n' --- 'triggers: [release]' --- 'Tag it.' > ${FILE}`;

describe('create_microagent', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    forge = await startForge({ 'acme/app': {} });
    model = await startModelServer(
      byTurn(
        [
          call('execute_bash', {
            command: `${WRITE} && git add -A && git commit -qm 'Add a microagent' && git push -q origin HEAD`,
          }),
          call('finish', { message: 'done' }),
        ],
        say('A title'),
      ),
    );
    parley = await startParley();
    await storeModel(parley, model);
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const create = async (id: string, body: object) => {
    await parley.ok('POST', '/api/conversations', { conversation_id: id, ...body });
    await parley.until(id, ({ agent_state, status }) => agent_state === 'finished' || status === 'ERROR');
    const view = (await parley.ok('GET', `/api/conversations/${id}`)) as Record<string, unknown>;
    const said = (await parley.events(id)).find((event) => isAction(event, 'message'));
    return { view, said: said?.args.content ?? '' };
  };

  it('works in its repository, by a prompt that says where the file goes, and the file gets there', async () => {
    const { view, said } = await create('by-title', {
      create_microagent: { repo: 'acme/app', git_provider: 'github', title: 'How to make a release' },
    });
    assert.deepEqual(
      [
        view['trigger'],
        view['selected_repository'],
        view['git_provider'],
        view['agent_state'],
        view['title'],
      ],
      ['microagent_management', 'acme/app', 'github', 'finished', 'Microagent: How to make a release'],
    );
    assert.match(said, /\.openhands\/microagents\/<name>\.md/);
    assert.match(said, /How to make a release/);
    assert.ok(JSON.stringify(model.requests[0]?.body.messages).includes('How to make a release'));
    assert.match(await forge.fileAt('acme/app', 'parley-by-title', FILE), /triggers: \[release\]/);
  });

  it('leaves the words to its user, who gives some', async () => {
    const { view, said } = await create('by-words', {
      create_microagent: { repo: 'acme/app', git_provider: 'github' },
      initial_user_msg: 'Write down how releases are made.',
    });
    assert.deepEqual([view['trigger'], view['selected_repository']], ['microagent_management', 'acme/app']);
    assert.equal(said, 'Write down how releases are made.');
  });
});
