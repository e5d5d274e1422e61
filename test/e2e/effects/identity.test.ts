import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../../src/events/event.ts';
import { call, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

const COMMIT = `git init -q r && cd r && git commit -q --allow-empty -m x && git log -1 --format='%an <%ae>|%cn <%ce>'`;

describe('commits', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer(byTurn([call('execute_bash', { command: COMMIT }), say('Done.')]));
    parley = await startParley();
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const NOBODY = 'Parley <parley@localhost>';
  const cases = [
    { who: 'the service, while nothing is known', members: {}, is: NOBODY },
    {
      who: 'the service, while the address is not verified',
      members: { email: 'ann@example.org', email_verified: false },
      is: NOBODY,
    },
    {
      who: 'the verified address, when git_user_* are not given',
      members: { email: 'ann@example.org', email_verified: true },
      is: 'ann <ann@example.org>',
    },
    {
      who: 'the verified address under the name that is given',
      members: { git_user_name: 'Ann Example' },
      is: 'Ann Example <ann@example.org>',
    },
    {
      who: 'git_user_name and git_user_email, whatever the address',
      members: { git_user_name: `Ann "A." O'Brien <x>`, git_user_email: 'git@example.org' },
      is: `Ann "A." O'Brien x <git@example.org>`,
    },
  ];
  // Each case adds to the settings of the one before.
  for (const [n, { who, members, is }] of cases.entries()) {
    it(`are by ${who}`, async () => {
      await parley.ok('PATCH', '/api/settings', members);
      const id = `commit-${n}`;
      await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Commit.' });
      await parley.until(id, ({ agent_state }) => agent_state === 'awaiting_user_input');
      const ran = (await parley.events(id)).find((event) => isObservation(event, 'run'));
      assert.equal(ran?.content.trim(), `${is}|${is}`);
    });
  }
});
