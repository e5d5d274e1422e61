import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { isAction } from '../../src/events/event.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

const THOUGHTS = 30;

interface Page {
  events: { id: number }[];
  has_more: boolean;
}

describe('reading a conversation', () => {
  let model: ModelServer;
  let parley: Parley;
  let last: number;

  before(async () => {
    const thoughts = Array.from({ length: THOUGHTS }, (_, n) => call('think', { thought: `thought ${n}` }));
    model = await startModelServer(byTurn([...thoughts, say('done')]));
    // No command is run here, and where none can be run everything else works.
    parley = await startParley({ PARLEY_SANDBOX: 'none' });
    await storeModel(parley, model);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'read', initial_user_msg: 'think' });
    await parley.until('read', ({ agent_state }) => agent_state === 'awaiting_user_input');
    last = (await parley.events('read')).at(-1)?.id ?? 0;
    assert.ok(last >= THOUGHTS);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const page = async (query: string): Promise<Page> =>
    (await parley.ok('GET', `/api/conversations/read/events?${query}`)) as Page;
  const ids = ({ events }: Page): number[] => events.map(({ id }) => id);
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, n) => from + n);

  it('pages forwards and backwards, and says whether there is more', async () => {
    assert.deepEqual(ids(await page('')), range(0, 19));
    assert.deepEqual(ids(await page('start_id=5&limit=3')), [5, 6, 7]);
    assert.equal((await page('start_id=5&limit=3')).has_more, true);
    assert.deepEqual(ids(await page('start_id=5&end_id=6&limit=3')), [5, 6]);
    assert.equal((await page('start_id=5&end_id=6&limit=3')).has_more, false);
    assert.deepEqual(ids(await page('reverse=true&limit=3')), [last, last - 1, last - 2]);
    assert.deepEqual(ids(await page('reverse=true&limit=3&end_id=4')), [4, 3, 2]);
    assert.equal((await page('reverse=true&limit=3&end_id=2')).has_more, false);
    assert.equal((await page(`start_id=${last}`)).has_more, false);
    assert.deepEqual(await page(`start_id=${last + 1}`), { events: [], has_more: false });
  });

  it('takes a query as the stores of V0 write it', async () => {
    assert.deepEqual(ids(await page('start_id=0&reverse=False&limit=2')), [0, 1]);
    assert.deepEqual(ids(await page('start_id=-1&reverse=0&limit=2')), [0, 1]);
    for (const yes of ['True', '1', 'yes']) {
      assert.deepEqual(ids(await page(`start_id=0&reverse=${yes}&limit=2`)), [last, last - 1]);
    }
    assert.deepEqual(await page('limit=0'), { events: [], has_more: true });
  });

  it('gives the events that a filter in the body of the GET asks for, as V0', async () => {
    const all = await parley.events('read');
    const filtered = async (filter: unknown, query = 'limit=100') => {
      const text = typeof filter === 'string' ? filter : JSON.stringify(filter);
      // fetch sends no body with a GET.
      const asked = httpRequest(`${parley.url}/api/conversations/read/events?${query}`, {
        headers: { 'x-session-api-key': parley.key, 'content-type': 'application/json' },
      });
      asked.setHeader('content-length', Buffer.byteLength(text));
      asked.end(text);
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return { status: answer.statusCode, body: (await json(answer)) as Page };
    };
    const ofUser = all.filter(({ source }) => source === 'user');
    assert.ok(ofUser.length > 1 && ofUser.length < all.length);
    assert.deepEqual((await filtered({ source: 'user' })).body, { events: ofUser, has_more: false });
    assert.deepEqual((await filtered({ source: 'user' }, 'limit=1&reverse=True')).body, {
      events: ofUser.slice(-1),
      has_more: true,
    });
    const { timestamp } = ofUser[0] ?? { timestamp: '' };
    assert.deepEqual(
      (await filtered({ source: 'user', end_date: timestamp, query: null })).body.events,
      ofUser.filter((event) => event.timestamp <= timestamp),
    );
    assert.deepEqual((await filtered({ query: 'NOWHERE in it' })).body, { events: [], has_more: false });
    for (const no of ['null', '{}', '{"source":null}', '']) {
      assert.deepEqual((await filtered(no, 'limit=3')).body.events, all.slice(0, 3), no);
    }
    for (const wrong of ['{', '[]', '{"source":1}', '{"include_types":["x"]}', `"${'x'.repeat(20_000)}"`]) {
      assert.equal((await filtered(wrong)).status, 422, wrong.slice(0, 30));
    }
  });

  it('refuses a limit out of range with 400, as V0, and what is no number with 422', async () => {
    for (const limit of [-1, 101, 1000]) {
      const { status } = await parley.request('GET', `/api/conversations/read/events?limit=${limit}`);
      assert.equal(status, 400, `limit ${limit}`);
    }
    for (const query of ['limit=x', 'end_id=-1', 'start_id=1.5', 'reverse=maybe', 'end_id=']) {
      const { status, body } = await parley.request('GET', `/api/conversations/read/events?${query}`);
      assert.equal(status, 422, query);
      assert.deepEqual((body as { errors: { loc: string[] }[] }).errors[0]?.loc, [
        'query',
        query.split('=')[0],
      ]);
    }
  });

  it('gives the whole log as a trajectory', async () => {
    const { trajectory } = (await parley.ok('GET', '/api/conversations/read/trajectory')) as {
      trajectory: unknown;
    };
    assert.deepEqual(trajectory, await parley.events('read'));
  });

  it('streams what is there and what comes, and resumes after Last-Event-ID', async () => {
    const stream = async (lastEventId?: number): Promise<ReadableStreamDefaultReader<string>> => {
      const response = await fetch(`${parley.url}/api/conversations/read/events/stream`, {
        headers: {
          'x-session-api-key': TEST_KEY,
          ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
        },
      });
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      const text = response.body?.pipeThrough(new TextDecoderStream());
      assert.ok(text);
      return text.getReader();
    };
    const until = async (reader: ReadableStreamDefaultReader<string>, wanted: string): Promise<number[]> => {
      let text = '';
      while (!text.includes(wanted)) text += (await reader.read()).value ?? '';
      return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    };
    const whole = await stream();
    assert.deepEqual(await until(whole, `id: ${last}\n`), range(0, last));
    const rest = await stream(last - 2);
    assert.deepEqual(await until(rest, `id: ${last}\n`), [last - 1, last]);
    model.play([say('again')]);
    await parley.ok('POST', '/api/conversations/read/message', { message: 'and now?' });
    assert.deepEqual((await until(rest, '"again"'))[0], last + 1);
    await whole.cancel();
    await rest.cancel();
  });

  it('refuses HEAD for the stream, which has no end that such an answer could be sent at', async () => {
    const { status, headers } = await fetch(`${parley.url}/api/conversations/read/events/stream`, {
      method: 'HEAD',
      headers: { 'x-session-api-key': TEST_KEY },
    });
    assert.deepEqual([status, headers.get('allow')], [405, 'GET']);
  });

  it('lists, renames and removes', async () => {
    const { results } = (await parley.ok('GET', '/api/conversations')) as { results: { title: string }[] };
    assert.equal(results.length, 1);
    assert.equal(await parley.ok('PATCH', '/api/conversations/read', { title: '  A better title ' }), true);
    assert.equal((await parley.until('read', () => true)).title, 'A better title');
    assert.equal((await parley.request('PATCH', '/api/conversations/read', { title: ' ' })).status, 422);
    assert.equal(await parley.ok('DELETE', '/api/conversations/read'), true);
    assert.equal((await parley.request('GET', '/api/conversations/read')).status, 404);
    assert.equal((await parley.request('DELETE', '/api/conversations/read')).status, 404);
  });

  it('says why no command is run where there is no sandbox', async () => {
    model.play(byTurn([call('execute_bash', { command: 'true' }), say('a pity')]));
    await parley.ok('POST', '/api/conversations', { conversation_id: 'none', initial_user_msg: 'go' });
    const view = await parley.until(
      'none',
      ({ agent_state }) => agent_state !== 'loading' && agent_state !== 'running',
    );
    const events = await parley.events('none');
    assert.ok(events.some((event) => isAction(event, 'run')));
    assert.match(JSON.stringify([view, events]), /PARLEY_SANDBOX/);
    const ready = await parley.request('GET', '/ready');
    assert.equal(ready.status, 503);
    assert.match(JSON.stringify(ready.body), /PARLEY_SANDBOX/);
  });
});
