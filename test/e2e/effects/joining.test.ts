import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAction } from '../../../src/events/event.ts';
import { say } from '../../support/model/answers.ts';
import { startModelServer } from '../../support/model/server.ts';
import { startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

describe('conversation_id', () => {
  it('makes a request safe to repeat, also after a crash, and another request with it joins', async () => {
    await using model = await startModelServer(() => say('Yes.'));
    await using parley = await startParley();
    await storeModel(parley, model);
    const request = { conversation_id: 'mine-1', initial_user_msg: 'Once.' };
    const waits = () => parley.until('mine-1', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const said = async () =>
      (await parley.events('mine-1')).flatMap((event) =>
        isAction(event, 'message') && event.source === 'user' ? [event.args.content] : [],
      );
    const replies = await Promise.all([1, 2, 3].map(() => parley.ok('POST', '/api/conversations', request)));
    assert.deepEqual(
      replies.map((reply) => (reply as { conversation_id: string }).conversation_id),
      ['mine-1', 'mine-1', 'mine-1'],
    );
    await waits();
    await parley.crash();
    await parley.start();
    await parley.ok('POST', '/api/conversations', request);
    await waits();
    assert.deepEqual(await said(), ['Once.']);
    assert.equal(model.requests.length, 1, 'and nothing was done twice');

    await parley.ok('POST', '/api/conversations', { ...request, initial_user_msg: 'Something else.' });
    await model.request(1);
    await waits();
    assert.deepEqual(await said(), ['Once.', 'Something else.']);
    const { results } = (await parley.ok('GET', '/api/conversations')) as { results: unknown[] };
    assert.equal(results.length, 1);
  });
});
