import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.ts';
import { startForge } from '../support/git/forge.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { startModelServer } from '../support/model/server.ts';
import { startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

/** What each conversation has in its workspace when it is stopped. */
const WORK: Readonly<Record<string, string>> = {
  unpushed:
    'git commit -q --allow-empty -m base && git push -q origin HEAD && echo two > a.txt && git commit -qam unpushed && ' +
    'echo three > a.txt && echo new > untracked && printf loose > ../loose.txt',
  pushed: 'echo pushed > a.txt && git commit -qam pushed && git push -q origin HEAD',
  broken: 'mkdir -p ../odd/.git && echo work > ../odd/file',
  young: 'echo young > a.txt',
};

test('old conversations are removed, their unpushed work is kept, and what cannot be kept stays', async (t) => {
  const place = await mkdtemp(join(tmpdir(), 'parley-retention-'));
  t.after(() => rm(place, { recursive: true, force: true }));
  await using forge = await startForge({ 'acme/app': { files: { 'a.txt': 'one\n' }, public: true } });
  await using model = await startModelServer();
  await using parley = await startParley({ PARLEY_KEEP_DAYS: '30' });
  await storeModel(parley, model);
  await storeGitToken(parley, forge);
  for (const [id, command] of Object.entries(WORK)) {
    model.play(byTurn([call('execute_bash', { command }), say('done')]));
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      repository: 'acme/app',
      initial_user_msg: 'work',
    });
    await parley.until(id, ({ agent_state }) => agent_state === 'awaiting_user_input');
    await parley.ok('POST', `/api/conversations/${id}/stop`);
  }
  await parley.ok('POST', '/api/conversations', { conversation_id: 'empty' });
  await parley.until('empty', ({ status }) => status === 'RUNNING');
  await parley.ok('POST', '/api/conversations/empty/stop');

  await parley.stop();
  const database = new DatabaseSync(join(parley.dataDir, 'parley.db'));
  database.exec("update conversations set updated_at = '2020-01-01T00:00:00.000Z' where id <> 'young'");
  database.close();
  await parley.start();

  for (const id of ['unpushed', 'pushed', 'empty'])
    await eventually(
      `${id} is removed`,
      async () => (await parley.request('GET', `/api/conversations/${id}`)).status === 404,
    );
  await eventually('why another stays', () =>
    /an old conversation stays: its unpushed work could not be kept/.test(parley.output()),
  );
  for (const id of ['broken', 'young']) await parley.ok('GET', `/api/conversations/${id}`);

  const bundles = join(parley.dataDir, 'bundles');
  const names = (await readdir(bundles)).toSorted();
  const day = new Date().toISOString().slice(0, 10);
  assert.deepEqual(
    names.map((name) => name.replace(/\d{4}-\d\d-\d\d/, day)),
    [`unpushed-${day}.2.bundle`, `unpushed-${day}.bundle`, `unpushed-${day}.patch`],
  );
  for (const name of names) assert.equal((await stat(join(bundles, name))).mode & 0o777, 0o600);

  // Not the synchronous form: the git server answers from this process.
  const git = async (...args: string[]): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      HOME: place,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
    };
    return (await promisify(execFile)('git', args, { cwd: place, env, timeout: 60_000 })).stdout;
  };
  const patch = names.find((name) => name.endsWith('.patch')) ?? '';
  const ofRepository = join(bundles, patch.replace('.patch', '.bundle'));
  const ofFiles = join(bundles, patch.replace('.patch', '.2.bundle'));
  await git('clone', '-q', forge.cloneUrl('acme/app'), 'app');
  await git('-C', 'app', 'fetch', '-q', ofRepository, 'parley-unpushed');
  await git('-C', 'app', 'checkout', '-q', 'FETCH_HEAD');
  assert.equal((await git('-C', 'app', 'log', '-1', '--format=%s')).trim(), 'unpushed');
  await git('-C', 'app', 'apply', join(bundles, patch));
  assert.equal(await readFile(join(place, 'app/a.txt'), 'utf8'), 'three\n');
  assert.equal(await readFile(join(place, 'app/untracked'), 'utf8'), 'new\n');
  await git('clone', '-q', ofFiles, 'files');
  assert.equal(await readFile(join(place, 'files/loose.txt'), 'utf8'), 'loose');

  const audit = await parley.command('audit');
  assert.equal(audit.split('\n').filter((line) => line.includes('conversation.deleted')).length, 3);
});
