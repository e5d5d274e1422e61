import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { startForge } from '../support/git/forge.ts';
import { call } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { startModelServer } from '../support/model/server.ts';
import { startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

const PUSH = [
  "git lfs track '*.bin'",
  'head -c 100000 /dev/zero > zeros.bin',
  'git add -A',
  'git commit -qm "Add zeros"',
  'git push -q origin HEAD',
].join(' && ');
const READ =
  'git clone -q -b parley-lfs "$(git remote get-url origin)" /tmp/again && wc -c < /tmp/again/zeros.bin';

it('an agent pushes LFS files and gets them back, with nothing set up in its sandbox', async () => {
  await using forge = await startForge({ 'acme/app': {} });
  await using model = await startModelServer(
    byTurn([
      call('execute_bash', { command: PUSH }),
      call('execute_bash', { command: READ }),
      call('finish', { message: 'done' }),
    ]),
  );
  await using parley = await startParley();
  await storeModel(parley, model);
  await storeGitToken(parley, forge);
  await parley.ok('POST', '/api/conversations', {
    conversation_id: 'lfs',
    repository: 'acme/app',
    initial_user_msg: 'Keep the zeros.',
  });
  await parley.until('lfs', ({ agent_state, status }) => agent_state === 'finished' || status === 'ERROR');
  const results = (await parley.events('lfs')).filter((event) => isObservation(event, 'run'));
  assert.deepEqual(
    results.map(({ extras }) => extras.metadata.exit_code),
    [0, 0],
    JSON.stringify(results),
  );
  assert.match(results[1]?.content ?? '', /100000/);
  assert.match(await forge.fileAt('acme/app', 'parley-lfs', 'zeros.bin'), /^version https:\/\/git-lfs/);
  assert.equal(forge.lfsObjects().length, 1);
});
