/**
 * The real service over a disk that fills up, a database that another process holds, and a clock that jumps. The small
 * disk is a tmpfs: mounted by root, by an ordinary user in a user namespace of its own.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Event, isAction } from '../../src/events/event.ts';
import { call, gate, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, prepareParley, startParley } from '../support/parley.ts';
import { hold } from '../support/held-database.ts';
import { mountSmallDisk, type SmallDisk } from '../support/failpoints/disk.ts';

const NO_SANDBOX = { PARLEY_SANDBOX: 'none' };
const MIB = 1024 ** 2;

const settingsFor = (model: ModelServer) => ({
  llm_model: 'openai/scripted',
  llm_api_key: 'sk-a-model-key',
  llm_base_url: model.baseUrl,
});

/** Thinks twice, the second time behind a gate, and finishes: no sandbox is needed. */
const thinking = (name: string) =>
  byTurn(
    [
      call('think', { thought: 'first' }),
      gate(name, call('think', { thought: 'second' })),
      call('finish', { message: 'done' }),
    ],
    say('A title'),
  );

function problemOf(body: unknown): { code: unknown; detail: unknown } {
  assert.ok(typeof body === 'object' && body !== null && 'code' in body && 'detail' in body);
  return { code: body.code, detail: body.detail };
}

describe('a full disk', () => {
  let disk: SmallDisk;
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    disk = await mountSmallDisk(16 * MIB);
    model = await startModelServer(thinking('room'));
    parley = await prepareParley({
      ...NO_SANDBOX,
      PARLEY_DATA_DIR: disk.directory,
      // It would refuse new work before anything is tried.
      PARLEY_MIN_FREE_SPACE: '0',
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
    await disk.close();
  });

  it('refuses the first start, and says why, also when there is room for the database’s files but not for its tables', async () => {
    for (const left of [0, 128 * 1024]) {
      await disk.fill(left);
      await assert.rejects(parley.start({ launcher: disk.launcher }), /The disk of \S+ is full/);
      await disk.free();
    }
  });

  it('refuses every write, and stores nothing of it; reading goes on', async () => {
    await parley.start({ launcher: disk.launcher });
    await parley.ok('POST', '/api/settings', settingsFor(model));
    await parley.ok('POST', '/api/conversations', { conversation_id: 'full', initial_user_msg: 'think' });
    await model.until((requests) => requests.filter(({ turn }) => turn === 1).length > 0);
    const events = await parley.events('full');
    await disk.fill();

    const long = 'x'.repeat(100_000);
    for (const [path, body] of [
      ['/api/settings', { llm_model: 'openai/other' }],
      ['/api/conversations', { conversation_id: 'another', initial_user_msg: long }],
      ['/api/conversations/full/message', { message: long }],
      ['/api/conversations/full/exp-config', { config: { a: long } }],
      ['/api/conversations/full/stop', undefined],
    ] as const) {
      const reply = await parley.request('POST', path, body);
      assert.equal(reply.status, 503, path);
      const { code, detail } = problemOf(reply.body);
      assert.equal(code, 'storage_unavailable');
      assert.match(String(detail), /^Nothing was stored: the disk is full/);
    }
    assert.deepEqual(await parley.events('full'), events);
    assert.equal((await parley.request('GET', '/api/conversations/another')).status, 404);
    const settings = await parley.ok('GET', '/api/settings');
    assert.ok(typeof settings === 'object' && settings !== null && 'llm_model' in settings);
    assert.equal(settings.llm_model, 'openai/scripted');
    const ready = await parley.request('GET', '/ready');
    assert.equal(ready.status, 503);
    assert.match(JSON.stringify(ready.body), /"storage":\{"ok":false,"reason":"[^"]*the disk is full/);
  });

  it('lets the run go on by itself when there is room again', async () => {
    model.open('room');
    // Time to meet the full disk. On a machine too slow for that, the run ends as it should all the same.
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal((await parley.request('POST', '/api/settings', { llm_model: 'openai/x' })).status, 503);
    assert.equal((await parley.request('GET', '/alive')).status, 200);
    await disk.free();
    const view = await parley.until('full', ({ agent_state }) => agent_state === 'finished');
    assert.equal(view.error, null);
    const events = await parley.events('full');
    assert.equal(events.filter((event) => isAction(event, 'think')).length, 2);
  });

  it('can be stopped while it is full, and started after a crash', async () => {
    await disk.fill();
    await parley.crash();
    await parley.start({ launcher: disk.launcher });
    assert.equal((await parley.events('full')).length > 0, true);
    assert.equal(await parley.stop(), 0);
    await disk.free();
    await parley.start({ launcher: disk.launcher });
    await parley.ok('POST', '/api/settings', settingsFor(model));
  });
});

describe('a database that another process holds', () => {
  let model: ModelServer;
  let parley: Parley;
  let other: DatabaseSync;

  before(async () => {
    model = await startModelServer(thinking('free'));
    parley = await startParley(NO_SANDBOX);
    other = new DatabaseSync(join(parley.dataDir, 'parley.db'));
    await parley.ok('POST', '/api/settings', settingsFor(model));
  });
  after(async () => {
    other.close();
    await parley.close();
    await model.close();
  });

  it('holds up who writes, and nobody else', async () => {
    await hold(other);
    let answered = false;
    const written = parley.request('POST', '/api/settings', { llm_model: 'openai/later' });
    void written.then(() => (answered = true));
    for (let n = 0; n < 3; n += 1) await parley.ok('GET', '/api/settings');
    assert.equal(answered, false, 'other requests were answered while it waited');
    other.exec('rollback');
    assert.equal((await written).status, 200);
    await parley.ok('POST', '/api/settings', settingsFor(model));
  });

  it('for too long refuses the write, and says why; the run waits and loses nothing', async () => {
    await parley.ok('POST', '/api/conversations', { conversation_id: 'held', initial_user_msg: 'think' });
    await model.until((requests) => requests.some(({ turn }) => turn === 1));
    await hold(other);
    model.open('free');
    const reply = await parley.request('POST', '/api/conversations/held/message', { message: 'more' });
    assert.equal(reply.status, 503);
    assert.deepEqual(problemOf(reply.body), {
      code: 'storage_unavailable',
      detail: 'Nothing was stored: another process holds the database: end it, then try again.',
    });
    other.exec('rollback');
    const view = await parley.until('held', ({ agent_state }) => agent_state === 'finished');
    assert.equal(view.error, null);
    const events = await parley.events('held');
    assert.equal(events.filter((event) => isAction(event, 'think')).length, 2);
    assert.deepEqual(saidBy(events), ['think']);
  });
});

describe('a clock that is an hour off', () => {
  const HOUR_MS = 60 * 60 * 1000;
  const PRELOAD = fileURLToPath(new URL('../support/failpoints/clock.ts', import.meta.url));
  const off = (ms: number) => ({ node: ['--import', PRELOAD], env: { CLOCK_OFF_MS: String(ms) } });
  let model: ModelServer;
  let parley: Parley;
  let bob: string;

  before(async () => {
    model = await startModelServer(byTurn([say('one'), say('two'), say('three')], say('A title')));
    // Beside a second user the model on loopback has to be allowed.
    parley = await prepareParley({ ...NO_SANDBOX, PARLEY_ALLOW_PRIVATE_HOSTS: '*' });
    await parley.start(off(HOUR_MS));
    await parley.ok('POST', '/api/settings', settingsFor(model));
    const printed = await parley.command('keys', 'create', '--user', 'bob', '--expires', '30m');
    bob = printed.trimEnd().split('\n').at(-1) ?? '';
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const creation = { initial_user_msg: 'hello' };
  const create = async (): Promise<string> => {
    const response = await fetch(`${parley.url}/api/conversations`, {
      method: 'POST',
      headers: {
        'x-session-api-key': parley.key,
        'content-type': 'application/json',
        'idempotency-key': 'the same',
      },
      body: JSON.stringify(creation),
    });
    const body: unknown = await response.json();
    assert.ok(typeof body === 'object' && body !== null && 'conversation_id' in body);
    return String(body.conversation_id);
  };
  const answered = (id: string, answer: string): Promise<Event[]> =>
    parley.untilEvents(id, (events) =>
      events.some((event) => isAction(event, 'message') && event.args.content === answer),
    );
  let id: string;

  it('ahead: a key that ends before then counts no more', async () => {
    assert.equal((await parley.request('GET', '/api/conversations', undefined, bob)).status, 401);
    id = await create();
    await answered(id, 'one');
  });

  it('back again: the key counts, creations are still repeated, the log goes on', async () => {
    await parley.stop();
    await parley.start();
    assert.equal((await parley.request('GET', '/api/conversations', undefined, bob)).status, 200);
    assert.equal(await create(), id, 'the Idempotency-Key is still known');
    await parley.ok('POST', `/api/conversations/${id}/message`, { message: 'again' });
    await answered(id, 'two');
  });

  it('behind: ids order what times do not', async () => {
    await parley.crash();
    await parley.start(off(-HOUR_MS));
    await parley.ok('POST', `/api/conversations/${id}/message`, { message: 'and again' });
    const events = await answered(id, 'three');
    assert.deepEqual(saidBy(events), ['hello', 'again', 'and again']);
    assert.deepEqual(
      events.map((event) => event.id),
      events.map((_, index) => index),
    );
    const times = events.map(({ timestamp }) => timestamp);
    assert.notDeepEqual(times, times.toSorted(), 'the clock did jump');
    await parley.ok('POST', '/api/conversations', { conversation_id: 'newest' });
    const page = await parley.ok('GET', '/api/conversations');
    assert.match(JSON.stringify(page), /^\{"results":\[\{"conversation_id":"newest"/);
  });
});

function saidBy(events: readonly Event[]): string[] {
  return events.flatMap((event) =>
    isAction(event, 'message') && event.source === 'user' ? [event.args.content] : [],
  );
}
