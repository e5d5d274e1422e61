import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { AuditEntry } from '../../src/audit/audit.ts';
import { eventually } from '../support/eventually.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';

/** How long a command of a user's runs who is to be ended: longer than any test waits. */
const FOR_EVER = 'echo begun > begun; sleep 600';

describe('a user who is disabled or erased beside the running server', () => {
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    model = await startModelServer(byTurn([call('execute_bash', { command: FOR_EVER }), say('ok')]));
    parley = await startParley({ PARLEY_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${model.port}` });
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  /** A user with a key, whose conversation is in the middle of a command. */
  async function busy(name: string): Promise<string> {
    const key = lastLine(await parley.command('keys', 'create', '--user', name));
    const settings = { llm_model: 'openai/x', llm_api_key: 'sk-key', llm_base_url: model.baseUrl };
    await parley.ok('POST', '/api/settings', settings, key);
    const before = new Set(workspaces());
    await parley.ok('POST', '/api/conversations', { conversation_id: 'c', initial_user_msg: 'x' }, key);
    await eventually('the command in its workspace', () =>
      workspaces().some((own) => !before.has(own) && existsSync(join(own, 'workspace', 'begun'))),
    );
    return key;
  }

  function workspaces(): string[] {
    const all = join(parley.dataDir, 'workspaces');
    return existsSync(all) ? readdirSync(all).map((own) => join(all, own)) : [];
  }

  function statuses(): unknown[] {
    const database = new DatabaseSync(join(parley.dataDir, 'parley.db'), { readOnly: true });
    const rows = database.prepare('select status from conversations').all();
    database.close();
    return rows.map(({ status }) => status);
  }

  async function audited(name: string): Promise<AuditEntry[]> {
    const printed = await parley.command('audit', '--json', '--user', name);
    return printed
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry);
  }

  it('disabled: keys and log-ins count no more, and what runs ends', async () => {
    const key = await busy('bob');
    const login = await parley.request('POST', '/api/login', { key }, '');
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
    const me = () => fetch(`${parley.url}/api/conversations`, { headers: { cookie } });
    assert.equal((await me()).status, 200);

    await parley.command('users', 'disable', 'bob');
    assert.equal((await parley.request('GET', '/api/conversations', undefined, key)).status, 401);
    assert.equal((await me()).status, 401);
    await eventually('all stopped', () => statuses().every((status) => status === 'STOPPED'));

    await parley.command('users', 'enable', 'bob');
    assert.equal((await parley.request('GET', '/api/conversations', undefined, key)).status, 200);
    assert.equal((await me()).status, 401, 'a log-in that ended does not come back');
    const actions = (await audited('bob')).map(({ action }) => action);
    assert.deepEqual(actions, ['key.created', 'secret.set', 'login.ok', 'user.disabled', 'user.enabled']);
  });

  it('erased: nothing of the user is left, the workspace included, and the audit log says so', async () => {
    const key = await busy('eve');
    const before = workspaces().length;
    await parley.command('users', 'erase', 'eve', '--yes');
    assert.equal(workspaces().length, before - 1);
    assert.equal((await parley.request('GET', '/api/conversations', undefined, key)).status, 401);
    const last = (await audited('eve')).at(-1);
    assert.deepEqual([last?.action, last?.detail], ['user.erased', { conversations: 1 }]);
  });

  it('erased while no server runs: the workspace goes at once', async () => {
    await busy('mallory');
    const before = workspaces().length;
    await parley.stop();
    await parley.command('users', 'erase', 'mallory', '--yes');
    assert.equal(workspaces().length, before - 1);
    await parley.start();
  });
});

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}
