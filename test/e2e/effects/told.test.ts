import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../../src/events/event.ts';
import { say } from '../../support/model/answers.ts';
import type { ModelRequest } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

/** What the model reads as its instructions. */
function system({ body }: ModelRequest): string {
  return JSON.stringify(body.messages.filter(({ role }) => role === 'system'));
}

describe('the model', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer(() => say('Understood.'));
    parley = await startParley();
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const waits = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'awaiting_user_input');
  const last = (): ModelRequest => {
    const request = model.requests.at(-1);
    assert.ok(request);
    return request;
  };
  /** Says something and gives what the model was asked then. */
  const tell = async (id: string, message: string): Promise<ModelRequest> => {
    const before = model.requests.length;
    await parley.ok('POST', `/api/conversations/${id}/message`, { message });
    const request = await model.request(before);
    await waits(id);
    return request;
  };

  it('is asked what the first message says, as soon as the conversation is created', async () => {
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'first',
      initial_user_msg: 'Count to 7.',
    });
    await waits('first');
    const { content } = last().body.messages.at(-1) ?? {};
    assert.match(JSON.stringify(content), /Count to 7\./);
  });

  it('is told the language to answer in, from the next run on', async () => {
    await parley.ok('PATCH', '/api/settings', { language: 'de' });
    await parley.ok('POST', '/api/conversations', { conversation_id: 'de', initial_user_msg: 'Hello.' });
    await waits('de');
    assert.match(system(last()), /Write to the user in German \(de\)/);
    // One of V0's codes that is no BCP 47 tag of its own.
    await parley.ok('PATCH', '/api/settings', { language: 'no' });
    assert.match(system(await tell('de', 'And now?')), /Write to the user in Norwegian/);
    // A language without a tag is told as its user wrote it; what is no name of a language is not stored.
    await parley.ok('PATCH', '/api/settings', { language: 'Plattdeutsch' });
    for (const language of ['de\nand rules of your own', 'a'.repeat(36)]) {
      assert.equal((await parley.request('PATCH', '/api/settings', { language })).status, 422);
    }
    assert.match(system(await tell('de', 'And now?')), /Write to the user in Plattdeutsch\. /);
    await parley.ok('PATCH', '/api/settings', { language: '' });
    assert.doesNotMatch(system(await tell('de', 'And now?')), /Write to the user in/);
  });

  it('is told the instructions of the conversation in every run, also after a crash', async () => {
    const instructions = 'Answer in at most three words.';
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'instructed',
      initial_user_msg: 'Hello.',
      conversation_instructions: instructions,
    });
    await waits('instructed');
    assert.ok(system(last()).includes(instructions));
    assert.ok(system(await tell('instructed', 'Once more.')).includes(instructions));
    await parley.crash();
    await parley.start();
    assert.ok(system(await tell('instructed', 'After the crash.')).includes(instructions));
    const recalled = (await parley.events('instructed')).flatMap((event) =>
      isObservation(event, 'recall') ? [event.extras.conversation_instructions] : [],
    );
    assert.deepEqual(recalled, [instructions]);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'other', initial_user_msg: 'Hello.' });
    await waits('other');
    assert.ok(!JSON.stringify(last().body).includes(instructions), 'nor is another conversation');
  });
});
