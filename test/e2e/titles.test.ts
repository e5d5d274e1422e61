import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Event } from '../../src/events/event.ts';
import { call, gate, say, status } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';

const finish = call('finish', { message: 'done' });
/** What a title takes: its cost shows that its answer has come. */
const USAGE = { prompt: 5000, completion: 10 };
const isPaid = (events: readonly Event[]): boolean =>
  events.some(({ llm_metrics }) => (llm_metrics?.accumulated_token_usage.prompt_tokens ?? 0) >= USAGE.prompt);

describe('titles', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer(byTurn([finish, finish]));
    parley = await startParley({ PARLEY_SANDBOX: 'none' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/gpt-4o',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      secrets_store: { custom_secrets: { DEPLOY: { secret: 'deploy-secret-value', description: '' } } },
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const create = (id: string, initial_user_msg: string): Promise<unknown> =>
    parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg });
  const finished = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'finished');

  async function follow(id: string) {
    const following = await fetch(`${parley.url}/api/conversations/${id}/events/stream`, {
      headers: { 'x-session-api-key': TEST_KEY },
    });
    const reader = following.body?.pipeThrough(new TextDecoderStream()).getReader();
    assert.ok(reader);
    let text = '';
    return {
      async until(words: string): Promise<void> {
        while (!text.includes(words)) {
          const { value, done } = await reader.read();
          assert.ok(!done, text);
          text += value;
        }
      },
      [Symbol.asyncDispose]: () => reader.cancel(),
    };
  }

  it('are given by the model, told to who watches, without tools, and their cost counts', async () => {
    model.answerTitles(gate('named', say('"Mending the login of deploy-secret-value"', { usage: USAGE })));
    await create('named', 'Please mend the login page, it is broken since Monday, thanks a lot.');
    await using watching = await follow('named');
    const before = await finished('named');
    assert.equal(before.title, 'Please mend the login page, it is broken since Mo…');
    model.open('named');
    await watching.until('"message":"named","conversation_title":"Mending the login of <secret_hidden>"');
    assert.equal((await parley.until('named', () => true)).title, 'Mending the login of <secret_hidden>');
    assert.equal(model.titles.at(-1)?.body.tools, undefined);
    const events = await parley.untilEvents('named', isPaid);
    assert.ok((events.at(-1)?.llm_metrics?.accumulated_cost ?? 0) > 0.01);
  });

  it('of the user stay, also when they are given while the model thinks of one', async () => {
    model.answerTitles(gate('renamed', say('The name of the model', { usage: USAGE })));
    const asked = model.titles.length + 1;
    await create('renamed', 'Hello there');
    await finished('renamed');
    await model.until(() => model.titles.length === asked);
    await parley.ok('PATCH', '/api/conversations/renamed', { title: 'My own' });
    model.open('renamed');
    await parley.untilEvents('renamed', isPaid);
    await parley.ok('POST', '/api/conversations/renamed/message', { message: 'more' });
    await parley.untilEvents(
      'renamed',
      (now) => now.filter((event) => 'action' in event && event.action === 'finish').length === 2,
    );
    assert.equal((await parley.until('renamed', () => true)).title, 'My own');
    assert.equal(model.titles.length, asked);
  });

  it('are told to who watches even when the model gives none', async () => {
    model.answerTitles(gate('unnamed', status(401)));
    await create('unnamed', 'Mend the footer');
    await using watching = await follow('unnamed');
    model.open('unnamed');
    await watching.until('"message":"unnamed","conversation_title":"Mend the footer"');
    assert.equal((await parley.until('unnamed', () => true)).title, 'Mend the footer');
  });

  it('are made from the message when the model gives none, also when the message came later', async () => {
    model.answerTitles(status(500));
    await parley.ok('POST', '/api/conversations', { conversation_id: 'later' });
    await parley.until('later', ({ agent_state }) => agent_state === 'awaiting_user_input');
    assert.equal((await parley.until('later', () => true)).title, 'Conversation later');
    await parley.ok('POST', '/api/conversations/later/message', { message: 'Mend the login\nand the rest' });
    await parley.until('later', ({ title }) => title === 'Mend the login');
    assert.equal((await finished('later')).error, null);
  });

  it('are asked for once more at most after a crash', async () => {
    model.answerTitles(gate('never', say('Never told')));
    model.play(byTurn([call('think', { thought: 'hm' }), gate('go', finish)]));
    const from = model.titles.length;
    await create('crashed', 'Mend it');
    await model.until(() => model.titles.length === from + 1);
    await parley.crash();
    model.answerTitles(say('A second try'));
    await parley.start();
    model.open('go');
    await parley.until('crashed', ({ title }) => title === 'A second try');
    assert.equal(model.titles.length, from + 2);
  });
});
