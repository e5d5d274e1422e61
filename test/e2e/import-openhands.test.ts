import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isAction, isObservation } from '../../src/events/event.ts';
import { call, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { DAMAGED_ID, FINISHED_ID, V0_SECRETS, writeOpenHandsHome } from '../support/openhands-home.ts';
import { type Parley, startParley } from '../support/parley.ts';

describe('parley import-openhands', () => {
  let place: string;
  let model: ModelServer;
  let parley: Parley;
  let report: string;

  before(async () => {
    place = await mkdtemp(join(tmpdir(), 'parley-import-'));
    model = await startModelServer();
    parley = await startParley();
    await writeOpenHandsHome(place, model.baseUrl);
    report = await parley.command('import-openhands', place);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await rm(place, { recursive: true, force: true });
  });

  it('stores settings, secrets and tokens, and leaves out what we do not take', async () => {
    const settings = (await parley.ok('GET', '/api/settings')) as Record<string, unknown>;
    assert.partialDeepStrictEqual(settings, {
      language: 'en',
      agent: 'CodeActAgent',
      max_iterations: 77,
      security_analyzer: null,
      llm_model: 'openai/from-v0',
      llm_base_url: model.baseUrl,
      llm_api_key: null,
      llm_api_key_set: true,
      sandbox_api_key_set: false,
      search_api_key_set: false,
      remote_runtime_resource_factor: null,
      git_user_name: 'Bob',
      provider_tokens_set: { github: 'github.com' },
      secrets_store: { provider_tokens: { github: null }, custom_secrets: { KEPT: null } },
    });
    assert.deepEqual(await parley.ok('GET', '/api/secrets'), {
      custom_secrets: [{ name: 'KEPT', description: 'for a test' }],
    });
    const named = /^Settings: (.+)$/m.exec(report)?.[1]?.split(', ') ?? [];
    assert.deepEqual(named, [...new Set(named)]);
    assert.ok(named.includes('secrets_store'));
    assert.match(report, /^Conversations: 2 with 15 events$/m);
    assert.match(report, /^There before: 0 conversations$/m);
  });

  it('keeps a conversation with its events: ids without gaps, causes that follow, times, what we do not have', async () => {
    const view = (await parley.ok('GET', `/api/conversations/${FINISHED_ID}`)) as Record<string, unknown>;
    assert.partialDeepStrictEqual(view, {
      title: 'Looking around',
      status: 'STOPPED',
      agent_state: 'finished',
      trigger: 'gui',
      created_at: '2025-08-14T12:00:00.205Z',
      error: null,
    });
    const events = await parley.events(FINISHED_ID);
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index),
    );
    assert.equal(events.length, 12);
    const recalled = events.findIndex((event) => isAction(event, 'recall'));
    assert.equal(events.find((event) => isObservation(event, 'recall'))?.cause, recalled);
    assert.equal(events[2]?.timestamp, '2025-08-14T12:00:01.000000');
    assert.ok(events.some((event) => event.message.startsWith('I am browsing')));
    assert.ok(!JSON.stringify(events).includes(V0_SECRETS.custom), 'secrets are hidden');
    assert.ok(JSON.stringify(events).includes('a-file-of-v0'));
  });

  it('skips damaged files and names them, and says that what was running was stopped', async () => {
    const events = await parley.events(DAMAGED_ID);
    assert.deepEqual(
      events.map((event) => ('action' in event ? event.action : event.observation)),
      ['message', 'agent_state_changed', 'agent_state_changed'],
    );
    const view = (await parley.ok('GET', `/api/conversations/${DAMAGED_ID}`)) as Record<string, unknown>;
    assert.partialDeepStrictEqual(view, { agent_state: 'stopped', selected_repository: null });
    assert.match(report, /^Left out: 10$/m);
  });

  it('again, finds nothing new', async () => {
    const before = await parley.ok('GET', '/api/settings');
    const again = await parley.command('import-openhands', place);
    assert.match(again, /^Conversations: 0 with 0 events$/m);
    assert.match(again, /^There before: 2 conversations$/m);
    assert.deepEqual(await parley.ok('GET', '/api/settings'), before);
    assert.equal((await parley.events(FINISHED_ID)).length, 12);
  });

  it('goes on: the model sees what was done before', async () => {
    model.play(({ body }) =>
      body.messages.at(-1)?.role === 'user'
        ? call('execute_bash', { command: 'echo here' })
        : say('I was there before.'),
    );
    const from = model.requests.length;
    await parley.ok('POST', `/api/conversations/${FINISHED_ID}/message`, { message: 'What did you see?' });
    await parley.untilEvents(FINISHED_ID, (events) =>
      events.some((event) => isAction(event, 'message') && event.message === 'I was there before.'),
    );
    const [request] = model.requests.slice(from).filter(({ body }) => body.tools?.length);
    const messages = request?.body.messages ?? [];
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'user'],
    );
    assert.match(JSON.stringify(messages[1]), /Look around, please/);
    assert.equal(messages[2]?.tool_calls?.length, 2);
    assert.match(JSON.stringify(messages[3]), /a-file-of-v0/);
    assert.match(JSON.stringify(messages[7]), /What did you see\?/);
    assert.equal(request?.headers.authorization, `Bearer ${V0_SECRETS.model}`);
  });

  it('a value of a secret is neither printed nor stored in clear', async () => {
    const stored = await readFile(join(parley.dataDir, 'parley.db'), 'latin1');
    const wal = await readFile(join(parley.dataDir, 'parley.db-wal'), 'latin1').catch(() => '');
    for (const value of Object.values(V0_SECRETS)) {
      assert.ok(!report.includes(value));
      assert.ok(!stored.includes(value) && !wal.includes(value) && !parley.output().includes(value));
    }
  });

  it('gives everything to another user only when asked to', async () => {
    const other = await parley.command('import-openhands', place, '--user', 'bob');
    assert.match(other, /^User: bob$/m);
    assert.match(other, /^Conversations: 2 with/m);
  });

  it('a directory that is none of OpenHands is refused', async () => {
    await assert.rejects(parley.command('import-openhands', tmpdir()), /neither settings.json/);
  });
});
