import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { Vault } from '../../secrets/vault.ts';
import { SettingsService } from '../../settings/service.ts';
import { secretsRoutes } from './secrets.ts';

describe('/api/secrets', () => {
  let http: TestServer;
  let service: SettingsService;
  let key: string;
  let userId: string;
  let users = 0;
  before(async () => {
    http = await startHttp(({ read, transact }) => {
      const vault = new Vault(randomBytes(32));
      service = new SettingsService({ read: read.settings, transact, vault, fetch });
      return [secretsRoutes(service)];
    });
  });
  after(() => http.close());
  beforeEach(async () => {
    users += 1;
    ({ key, userId } = await http.addUser(`user${users}`));
  });

  const send = async (method: string, path = '', body?: unknown) => {
    const { status, json } = await http.request(method, `/api/secrets${path}`, { key, body });
    return { status, json, code: (json as { code?: string }).code };
  };
  const add = (name: string, value = 'long-enough') =>
    send('POST', '', { name, value, description: `of ${name}` });
  const list = async () => (await send('GET')).json;
  const valueOf = async (name: string) =>
    (await service.snapshot(userId)).customSecrets[name]?.secret.unwrap();

  test('a secret is made, listed without its value, and known to runs', async () => {
    const { status, json } = await add('B_KEY', 'the-value-of-b');
    assert.deepEqual([status, json], [201, { message: 'Secret created successfully' }]);
    await send('POST', '', { name: 'A_KEY', value: 'the-value-of-a' });
    assert.deepEqual(await list(), {
      custom_secrets: [
        { name: 'A_KEY', description: '' },
        { name: 'B_KEY', description: 'of B_KEY' },
      ],
    });
    assert.equal(await valueOf('B_KEY'), 'the-value-of-b');
  });

  test('a name is taken once', async () => {
    await add('A_KEY', 'the-first-value');
    const again = await add('A_KEY', 'the-second-value');
    assert.deepEqual([again.status, again.code], [400, 'secret_exists']);
    assert.equal((again.json as { message: string }).message, 'Secret A_KEY already exists');
    assert.equal(await valueOf('A_KEY'), 'the-first-value');
  });

  test('a secret is renamed and described anew; its value stays', async () => {
    await add('A_KEY', 'the-value-of-a');
    const changed = await send('PUT', '/A_KEY', { name: 'C_KEY', description: 'other' });
    assert.deepEqual([changed.status, changed.json], [200, { message: 'Secret updated successfully' }]);
    assert.deepEqual(await list(), { custom_secrets: [{ name: 'C_KEY', description: 'other' }] });
    assert.equal(await valueOf('C_KEY'), 'the-value-of-a');
    assert.equal(await valueOf('A_KEY'), undefined);
  });

  test('a secret gets another value; what is omitted stays', async () => {
    await add('A_KEY');
    await send('PUT', '/A_KEY', { name: 'A_KEY', value: 'another-value' });
    assert.equal(await valueOf('A_KEY'), 'another-value');
    assert.deepEqual(await list(), { custom_secrets: [{ name: 'A_KEY', description: 'of A_KEY' }] });
  });

  test('a secret does not take the name of another', async () => {
    await add('A_KEY', 'the-value-of-a');
    await add('B_KEY', 'the-value-of-b');
    assert.equal((await send('PUT', '/A_KEY', { name: 'B_KEY' })).code, 'secret_exists');
    assert.equal(await valueOf('B_KEY'), 'the-value-of-b');
  });

  test('a secret is removed once', async () => {
    await add('A_KEY');
    const removed = await send('DELETE', '/A_KEY');
    assert.deepEqual([removed.status, removed.json], [200, { message: 'Secret deleted successfully' }]);
    assert.equal((await send('DELETE', '/A_KEY')).code, 'secret_not_found');
    assert.deepEqual((await service.snapshot(userId)).liveSecrets, []);
  });

  test("an unknown one, an impossible one and another user's are the same 404", async () => {
    await add('A_KEY');
    ({ key } = await http.addUser('stranger'));
    for (const path of ['/A_KEY', '/NONE', '/constructor', '/%F0%9F%92%A9', '/..%2f']) {
      for (const [method, body] of [
        ['PUT', { name: 'X' }],
        ['DELETE', undefined],
      ] as const) {
        const { status, code } = await send(method, path, body);
        assert.deepEqual([status, code], [404, 'secret_not_found'], `${method} ${path}`);
      }
    }
    assert.deepEqual(await list(), { custom_secrets: [] });
  });

  test('names of object members are names like others', async () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) await add(name, `value of ${name}`);
    assert.equal(await valueOf('toString'), 'value of toString');
    assert.equal((await send('DELETE', '/constructor')).status, 200);
  });
});
