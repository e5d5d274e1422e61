import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';

const FILL = 'head -c 30M /dev/zero | split -b 8M - "$(mktemp -d /workspace/fill-XXXXXX)/" && sleep 60';

describe('the disk', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer(byTurn([say('Ready.')], say('A title')));
    parley = await startParley({ PARLEY_SANDBOX_DISK: '20M' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-disk',
      llm_base_url: model.baseUrl,
    });
    await parley.ok('POST', '/api/conversations', { conversation_id: 'c', initial_user_msg: 'Go.' });
    await parley.until('c', ({ agent_state }) => agent_state === 'awaiting_user_input');
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  /** What a command came to. */
  const ran = async (command: string) => {
    const from = (await parley.events('c')).length;
    model.play([call('execute_bash', { command }), say('Done.')]);
    await parley.ok('POST', '/api/conversations/c/message', { message: 'Run.' });
    const events = await parley.untilEvents('c', (all) =>
      all.slice(from).some((event) => isObservation(event, 'run')),
    );
    await parley.until('c', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const run = events.findLast((event) => isObservation(event, 'run'));
    assert.ok(run && isObservation(run, 'run'));
    return { exitCode: run.extras.metadata.exit_code, said: run.content };
  };

  it('that a workspace may take is bounded, and the observation says by what', async () => {
    const { exitCode, said } = await ran(FILL);
    assert.equal(exitCode, -1);
    assert.match(said, /take .* of disk, more than the 20 MiB they may take.*Remove files/);
  });

  it('is bounded over restarts too: neither a new sandbox nor a new service brings more room', async () => {
    assert.match((await ran(FILL)).said, /more than the 20 MiB/);
    await parley.stop();
    await parley.start();
    assert.match((await ran(FILL)).said, /more than the 20 MiB/);
    const { said } = await ran(
      'du -sm /workspace | cut -f1; rm -r /workspace/fill-*; echo removed; sleep 0.5; echo still here',
    );
    assert.match(said, /^\d+\nremoved\nstill here\n/);
  });

  it('that is almost full takes no new work; what is there can be read and removed', async () => {
    await parley.stop();
    await parley.start({ env: { PARLEY_MIN_FREE_SPACE: '1000T' } });
    const refused = await parley.request('POST', '/api/conversations', { conversation_id: 'new' });
    assert.deepEqual(
      [refused.status, (refused.body as { code: string }).code, refused.headers.get('retry-after')],
      [503, 'disk_almost_full', '60'],
    );
    assert.equal((await parley.request('GET', '/api/conversations/new')).status, 404);
    const ready = await parley.request('GET', '/ready', undefined, '');
    assert.equal(ready.status, 503);
    assert.match(
      JSON.stringify(ready.body),
      /"disk":\{"ok":false,"reason":"The disk of the data directory has/,
    );
    await parley.ok('GET', '/api/conversations/c/list-files');
    await parley.ok('DELETE', '/api/conversations/c');
  });
});
