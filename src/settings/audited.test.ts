import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ensureUser } from '../auth/keys.ts';
import type { Principal } from '../auth/principal.ts';
import { providerTokensBody } from '../contract/providers.ts';
import { newSecret } from '../contract/secrets.ts';
import { settingsPatch } from '../contract/settings.ts';
import { Vault } from '../secrets/vault.ts';
import { openStorage, type Storage } from '../storage/storage.ts';
import { SettingsService } from './service.ts';

const VALUE = 'hunter2-hunter2';

describe('the audit log of settings', () => {
  let dataDir: string;
  let storage: Storage;
  let service: SettingsService;
  let by: Principal;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-audited-'));
    storage = await openStorage(dataDir);
    const refuse: typeof fetch = () => Promise.resolve(new Response('{}', { status: 401 }));
    service = new SettingsService({
      read: storage.read.settings,
      transact: storage.transact,
      vault: new Vault(randomBytes(32)),
      fetch: refuse,
    });
    const user = await storage.transact(({ keys }) => ensureUser(keys, 'ann'));
    by = { userId: user.id, userName: 'ann', keyId: '17ab' };
  });
  afterEach(async () => {
    await storage.close();
    await rm(dataDir, { recursive: true });
  });

  const patch = (body: unknown) => service.patch(by, settingsPatch.parse(body));
  const noted = async () => {
    const entries = await storage.read.audit.list({ limit: 100 });
    assert.ok(!JSON.stringify(entries).includes(VALUE));
    assert.ok(entries.every(({ actor, user }) => actor === 'key:17ab' && user === 'ann'));
    return entries.map(({ action, subject, detail }) => [action, subject, detail]);
  };

  test('names a secret that was set by its member and destination, and one that was cleared', async () => {
    await patch({
      llm_api_key: VALUE,
      llm_base_url: 'https://m.example/v1',
      search_api_key: `tvly-${VALUE}`,
    });
    await patch({ search_api_key: '' });
    assert.deepEqual(await noted(), [
      ['secret.set', 'llm_api_key', { destination: 'https://m.example' }],
      ['secret.set', 'search_api_key', {}],
      ['secret.cleared', 'search_api_key', {}],
    ]);
  });

  test('has nothing of settings without secrets, and of a secret that is stored already', async () => {
    await patch({ language: 'de' });
    await patch({ sandbox_api_key: VALUE });
    await patch({ sandbox_api_key: VALUE, language: 'en' });
    await patch({ sandbox_api_key: null });
    assert.equal((await noted()).length, 1);
  });

  test('of an MCP server has the origin: a path may be a key', async () => {
    await patch({
      mcp_config: {
        sse_servers: [{ url: `https://mcp.example/${VALUE}?key=${VALUE}`, api_key: VALUE }],
        stdio_servers: [{ name: 'files', command: 'x', args: [VALUE], env: { TOKEN: VALUE } }],
      },
    });
    assert.deepEqual(await noted(), [
      ['secret.set', 'mcp_config.sse_servers.https://mcp.example', {}],
      ['secret.set', 'mcp_config.stdio_servers.files.TOKEN', {}],
    ]);
  });

  test('tells tokens that were stored, refused and cleared', async () => {
    await patch({ secrets_store: { provider_tokens: { github: VALUE } } });
    const refused = providerTokensBody.parse({ provider_tokens: { gitlab: { token: VALUE } } });
    await assert.rejects(service.storeProviderTokens(by, refused, AbortSignal.timeout(10_000)));
    await service.unsetProviderTokens(by);
    const actions = (await noted()).map(([action, subject]) => [action, subject]);
    assert.deepEqual(actions, [
      ['token.stored', 'github'],
      ['token.refused', 'gitlab'],
      ['token.cleared', 'github'],
    ]);
  });

  test('tells custom secrets that were set, renamed and removed', async () => {
    await service.addSecret(by, newSecret.parse({ name: 'A', value: VALUE }));
    await service.changeSecret(by, 'A', { name: 'B' });
    await service.removeSecret(by, 'B');
    const actions = (await noted()).map(([action, subject]) => [action, subject]);
    assert.deepEqual(actions, [
      ['custom_secret.set', 'A'],
      ['custom_secret.set', 'B'],
      ['custom_secret.removed', 'A'],
      ['custom_secret.removed', 'B'],
    ]);
  });
});
