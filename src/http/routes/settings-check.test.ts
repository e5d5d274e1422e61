import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { say, silence, status } from '../../../test/support/model/answers.ts';
import { type ModelServer, startModelServer } from '../../../test/support/model/server.ts';
import { checkModel } from '../../model/check.ts';
import { Vault } from '../../secrets/vault.ts';
import { SettingsService } from '../../settings/service.ts';
import { settingsCheckRoutes } from './settings-check.ts';
import { settingsRoutes } from './settings.ts';

const KEY = 'sk-a-key-to-check-1234';

describe('/api/settings/check', () => {
  let http: TestServer;
  let model: ModelServer;
  let key: string;
  let users = 0;
  let totalMs: number;
  before(async () => {
    http = await startHttp(({ read, transact }) => {
      const vault = new Vault(randomBytes(32));
      const service = new SettingsService({ read: read.settings, transact, vault, fetch });
      const check = settingsCheckRoutes(service, (one, signal) => checkModel(one, fetch, signal, totalMs));
      return [settingsRoutes(service), check];
    });
  });
  after(() => http.close());
  beforeEach(async () => {
    model = await startModelServer([say('Hi')]);
    totalMs = 60_000;
    users += 1;
    ({ key } = await http.addUser(`user${users}`));
  });
  afterEach(() => model.close());

  const full = () => ({ llm_model: 'openai/x', llm_api_key: KEY, llm_base_url: model.baseUrl });
  const check = async (body: unknown) => {
    const answer = await http.request('POST', '/api/settings/check', { key, body });
    assert.ok(!answer.text.includes(KEY));
    return { status: answer.status, body: answer.json as Record<string, unknown> };
  };
  const store = (body: unknown) => http.request('POST', '/api/settings', { key, body });
  const sentKeys = () => model.requests.map(({ headers }) => headers.authorization);

  test('says that a model answers, and stores nothing', async () => {
    const { status, body } = await check(full());
    assert.equal(status, 200);
    assert.deepEqual([body['ok'], body['model'], body['error']], [true, 'openai/x', undefined]);
    assert.ok(Number.isInteger(body['latency_ms']));
    assert.deepEqual(sentKeys(), [`Bearer ${KEY}`]);
    assert.equal((await http.request('GET', '/api/settings', { key })).status, 404);
  });

  test('takes what is omitted from what is stored', async () => {
    await store(full());
    assert.equal((await check({})).body['ok'], true);
    assert.deepEqual(sentKeys(), [`Bearer ${KEY}`]);
  });

  test('never sends a stored key elsewhere', async () => {
    await store({ ...full(), llm_base_url: 'http://127.0.0.1:9/v1' });
    for (const body of [{ llm_base_url: model.baseUrl }, { llm_base_url: '', llm_model: 'anthropic/c' }]) {
      const refused = await check(body);
      assert.deepEqual([refused.status, refused.body['code']], [422, 'secret_destination_changed']);
    }
    assert.deepEqual(sentKeys(), []);
    assert.equal((await check({ llm_base_url: model.baseUrl, llm_api_key: '' })).body['ok'], true);
    assert.deepEqual(sentKeys(), [undefined]);
  });

  test('says why a model does not answer, and what to do', async () => {
    model.play([status(401, {}, { error: { message: `Incorrect API key provided: ${KEY}` } })]);
    const { body } = await check(full());
    const error = body['error'] as { code: string; hint: string };
    assert.deepEqual([body['ok'], error.code], [false, 'model_authentication']);
    assert.match(error.hint, /llm_api_key/);
  });

  test('does not wait for a model that is silent', async () => {
    model.play([silence()]);
    totalMs = 100;
    const { body } = await check(full());
    assert.equal((body['error'] as { code: string }).code, 'model_unavailable');
  });

  test('refuses what names no model, or none that has an address', async () => {
    for (const body of [{}, { llm_model: 'nobody/knows' }, { llm_model: 7 }]) {
      const refused = await check(body);
      assert.deepEqual([refused.status, refused.body['code']], [422, 'invalid_request']);
    }
  });
});
