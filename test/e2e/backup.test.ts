import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { call, gate, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { startModelServer } from '../support/model/server.ts';
import { prepareParley, startParley } from '../support/parley.ts';

const SECRET = 'a-secret-that-only-the-vault-has';

test('a backup of a running server goes on in an empty folder: what waited, and what was in the middle of a run', async (t) => {
  const place = await mkdtemp(join(tmpdir(), 'parley-backup-'));
  t.after(() => rm(place, { recursive: true, force: true }));
  await using model = await startModelServer();
  await using first = await startParley();
  const settings = {
    llm_model: 'openai/scripted',
    llm_api_key: 'sk-a-model-key',
    llm_base_url: model.baseUrl,
    secrets_store: { custom_secrets: { KEPT: SECRET } },
  };
  await first.ok('POST', '/api/settings', settings);

  model.play(
    byTurn([
      call('execute_bash', { command: 'echo before > kept; export SHELL_STATE=kept; ln kept again' }),
      say('It is written.'),
      call('execute_bash', { command: 'cat kept again; echo $SHELL_STATE; printenv KEPT | wc -c' }),
      say('It was read.'),
    ]),
  );
  await first.ok('POST', '/api/conversations', { conversation_id: 'waits', initial_user_msg: 'write' });
  await first.until('waits', ({ agent_state }) => agent_state === 'awaiting_user_input');

  const from = model.requests.length;
  model.play(
    byTurn([
      call('execute_bash', { command: 'echo once >> count' }),
      gate('answer', call('execute_bash', { command: 'cat count' })),
      call('finish', { message: 'done' }),
    ]),
  );
  await first.ok('POST', '/api/conversations', { conversation_id: 'runs', initial_user_msg: 'count' });
  await model.until((requests) => requests.length === from + 2);

  const file = join(place, 'backup.tar.zst');
  await first.command('backup', file);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).split('\n');
  for (const name of ['parley.db', 'secret-key', 'workspaces/1/workspace/kept']) {
    assert.ok(names.includes(name), name);
  }
  await assert.rejects(first.command('backup', file), /is there already/);
  await first.close();

  await using second = await prepareParley({ PARLEY_DATA_DIR: join(place, 'restored') });
  await second.command('restore', file);
  await assert.rejects(second.command('restore', file), /is not empty/);
  await second.start();
  model.open('answer');
  await second.until('runs', ({ agent_state }) => agent_state === 'finished');
  const counted = (await second.events('runs')).findLast((event) => isObservation(event, 'run'));
  assert.equal(counted?.content.trim(), 'once');

  model.play(
    byTurn([
      say('unused'),
      say('unused'),
      call('execute_bash', { command: 'cat kept again; echo $SHELL_STATE; printenv KEPT | wc -c' }),
      say('It was read.'),
    ]),
  );
  await second.ok('POST', '/api/conversations/waits/message', { message: 'read' });
  const events = await second.untilEvents('waits', (now) =>
    now.some((event) => 'action' in event && event.message === 'It was read.'),
  );
  const seen = events.findLast((event) => isObservation(event, 'run'));
  assert.equal(seen?.content.trim(), `before\nbefore\nkept\n${SECRET.length + 1}`);
});
