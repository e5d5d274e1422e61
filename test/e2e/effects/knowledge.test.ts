import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../../src/events/event.ts';
import { startForge } from '../../support/git/forge.ts';
import type { GitServer } from '../../support/git/git-server.ts';
import { call, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeGitToken, storeModel } from '../../support/stored.ts';

const FILES = {
  'AGENTS.md': 'Indent with tabs.\n',
  '.cursorrules': 'Write short names.\n',
  '.openhands/microagents/repo.md': 'Build with make.\n',
  '.openhands/microagents/ship.md':
    '---\nname: shipping\ntriggers: [ship, release]\n---\nShip with make ship.\n',
  '.openhands/microagents/broken.md': '---\ntriggers: [\n---\nBroken, and told.\n',
};

describe('what a repository says', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    forge = await startForge({ 'acme/app': { files: FILES } });
    model = await startModelServer();
    parley = await startParley();
    await storeModel(parley, model);
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  const create = async (id: string, message: string): Promise<Event[]> => {
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      repository: 'acme/app',
      initial_user_msg: message,
    });
    return await waits(id, 1);
  };
  const tell = async (id: string, message: string, times: number): Promise<Event[]> => {
    await parley.ok('POST', `/api/conversations/${id}/message`, { message });
    return await waits(id, times);
  };
  /** Waits until the agent has waited for its user that many times. */
  const waits = (id: string, times: number) =>
    parley.untilEvents(id, (events) => {
      const states = events.flatMap((event) =>
        isObservation(event, 'agent_state_changed') ? [event.extras.agent_state] : [],
      );
      return states.filter((state) => state === 'awaiting_user_input').length === times;
    });
  const recalls = (events: readonly Event[]) =>
    events.flatMap((event) => (isObservation(event, 'recall') ? [event] : []));
  const lastAsked = (): string => JSON.stringify(model.requests.at(-1)?.body.messages);

  it('always is told with the first message, and what was broken is said once', async () => {
    model.play([say('Yes.'), say('Yes.')]);
    await create('always', 'Hello.');
    for (const text of ['Indent with tabs.', 'Write short names.', 'Build with make.', 'Broken, and told.']) {
      assert.ok(lastAsked().includes(text), text);
    }
    assert.ok(!lastAsked().includes('Ship with make ship.'));
    const events = await tell('always', 'Hello again.', 2);
    const [first, ...more] = recalls(events);
    assert.deepEqual(more, []);
    assert.match(first?.extras.repo_instructions ?? '', /^# \.cursorrules\n[^]*# AGENTS\.md\n[^]*# repo\n/);
    const errors = events.flatMap((event) => (isObservation(event, 'error') ? [event.content] : []));
    assert.equal(
      events.filter((event) => isAction(event, 'system')).length,
      1,
      'and so are the instructions',
    );
    assert.deepEqual(errors, ['The head of .openhands/microagents/broken.md cannot be used: it is no YAML.']);
  });

  it('for a word is told with the message that has it, as V0 shows it', async () => {
    model.play([say('Yes.'), say('Shipped.'), say('Again.')]);
    await create('word', 'Hello.');
    const events = await tell('word', 'Please RELEASE it.', 2);
    const recall = recalls(events).at(-1);
    const action = events.findLast((event) => isAction(event, 'recall'));
    assert.equal(action?.args.recall_type, 'knowledge');
    const { observation, content, cause, extras } = recall ?? {};
    assert.deepEqual(
      { observation, content, cause, type: extras?.recall_type, knowledge: extras?.microagent_knowledge },
      {
        observation: 'recall',
        content: 'Retrieved knowledge from microagents',
        cause: action?.id,
        type: 'knowledge',
        knowledge: [{ name: 'shipping', trigger: 'release', content: 'Ship with make ship.' }],
      },
    );
    assert.match(lastAsked(), /Ship with make ship\.[^]*Please RELEASE it\./);
    await parley.crash();
    await parley.start();
    await tell('word', 'Ship it once more.', 3);
    assert.equal(lastAsked().split('Ship with make ship.').length, 2, 'once, also after a crash');
  });

  it('is read from the workspace as it is then, and from nowhere else', async () => {
    const change = [
      'cd .openhands/microagents',
      `printf -- '---\\ntriggers: [moon]\\n---\\nFly to the moon.' > moon.md`,
      'ln -s /etc/passwd passwd.md',
      'ln -s /home/agent/home.md home.md',
      "echo fr''om the home > /home/agent/home.md",
      'mkfifo wait.md',
      'head -c 400000 /dev/zero > large.md',
    ].join('; ');
    model.play(byTurn([call('execute_bash', { command: change }), say('Made.'), say('Flown.')], say('T')));
    await create('changed', 'Make them.');
    const events = await tell('changed', 'To the moon!', 2);
    assert.deepEqual(
      recalls(events)
        .at(-1)
        ?.extras.microagent_knowledge.map(({ content }) => content),
      ['Fly to the moon.'],
    );
    const said = events.findLast((event) => isObservation(event, 'error'))?.content ?? '';
    for (const [name, why] of [
      ['passwd', 'it leads out of the workspace'],
      ['home', 'it leads out of the workspace'],
      ['wait', 'it is no file'],
      ['large', 'it is larger than 256 KiB'],
    ]) {
      assert.ok(said.includes(`.openhands/microagents/${name}.md was not read: ${why}.`), name);
    }
    assert.doesNotMatch(lastAsked(), /root:x:|from the home/);
  });
});
