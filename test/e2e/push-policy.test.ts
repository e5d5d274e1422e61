import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { startForge } from '../support/git/forge.ts';
import { call } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { startModelServer } from '../support/model/server.ts';
import { startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

const run = (command: string) => call('execute_bash', { command });
const finish = call('finish', { message: 'done' });
const AGAIN = 'git commit -q --amend --allow-empty -m Again && git push -q --force origin HEAD 2>&1';

it('an agent rewrites the branch that its conversation made, also after a restart, and no other', async () => {
  await using forge = await startForge({ 'acme/app': {} });
  await using model = await startModelServer(
    byTurn([
      run('git commit -q --allow-empty -m Work && git push -q origin HEAD 2>&1'),
      finish,
      run(AGAIN),
      run('git push --force origin HEAD~1:main HEAD:refs/heads/other 2>&1; git push origin :main 2>&1'),
      run('git checkout -q --orphan new && git commit -q -m New && git push --force origin HEAD:main 2>&1'),
      finish,
    ]),
  );
  await using parley = await startParley();
  await storeModel(parley, model);
  await storeGitToken(parley, forge);
  await parley.ok('POST', '/api/conversations', {
    conversation_id: 'rewrites',
    repository: 'acme/app',
    initial_user_msg: 'Push it.',
  });
  const finished = () =>
    parley.until('rewrites', ({ agent_state, status }) => agent_state === 'finished' || status === 'ERROR');
  const results = async () =>
    (await parley.events('rewrites')).filter((event) => isObservation(event, 'run'));
  await finished();
  await parley.crash();
  await parley.start();
  const main = await forge.commitOf('acme/app', 'main');
  await parley.ok('POST', '/api/conversations/rewrites/message', { message: 'Now again, otherwise.' });
  await parley.untilEvents(
    'rewrites',
    (events) => events.filter((one) => isObservation(one, 'run')).length === 4,
  );
  await finished();

  const [first, again, deleted, forced] = await results();
  assert.deepEqual(
    [first, again].map((one) => one?.extras.metadata.exit_code),
    [0, 0],
    JSON.stringify([first, again]),
  );
  assert.equal((await forge.commitOf('acme/app', 'parley-rewrites'))?.message, 'Again');
  assert.match(deleted?.content ?? '', /main \(this conversation did not make it, and may not delete it\)/);
  assert.match(forced?.content ?? '', /remote: gateway: refs\/heads\/main: .*PARLEY_PUSH_POLICY/);
  assert.deepEqual(await forge.commitOf('acme/app', 'main'), main);

  const audit = (await parley.command('audit', '--json'))
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { action: string }).action)
    .filter((action) => action.startsWith('push'));
  assert.deepEqual(audit, ['push', 'push', 'push', 'push.refused', 'push.refused']);
});
