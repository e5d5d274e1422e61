import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { io } from 'socket.io-client';
import { Inspector, startInspected } from '../support/inspector.ts';
import { call } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import type { Parley } from '../support/parley.ts';

/** A leak shows in every round; what is made once, or kept for the next time, does not. */
const MOST_ROUNDS = 4;
/** At one heap: some of it goes only when other parts are gone. */
const LOOKS = 4;

describe('in the memory of the server nothing is left', () => {
  let model: ModelServer;
  let parley: Parley;
  let inspector: Inspector;
  before(async () => {
    model = await startModelServer(
      byTurn([call('execute_bash', { command: 'echo hello' }), call('finish', { message: 'done' })]),
    );
    parley = await startInspected({ PARLEY_SANDBOX: 'unconfined', PARLEY_RATE_LIMIT: '0' });
    inspector = await Inspector.of(parley);
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/gpt-4o',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
    });
    await parley.ok('POST', '/api/conversations', { conversation_id: 'watched' });
  });
  after(async () => {
    inspector[Symbol.dispose]();
    await parley.close();
    await model.close();
  });

  it('of sockets that are cut', () => noneLeft(50, 2, () => comeBySocket('websocket', 'watched')));

  it('of clients of long polling that go', () => noneLeft(50, 2, () => comeBySocket('polling', 'watched')));

  it('of streams of events that are cut', () => noneLeft(50, 2, () => comeByStream('watched')));

  it('of conversations that are made, driven, watched and removed', () =>
    noneLeft(10, 1, async (n) => {
      const id = `life-${n}`;
      await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Say hello.' });
      await parley.until(id, ({ agent_state }) => agent_state === 'finished');
      await comeBySocket('websocket', id);
      await comeByStream(id);
      await parley.ok('POST', `/api/conversations/${id}/stop`);
      await parley.ok('DELETE', `/api/conversations/${id}`);
    }));

  /** Does it so often, so many at once, and again, until a round has not left as much as one thing each time behind. */
  async function noneLeft(times: number, atOnce: number, work: (n: number) => Promise<void>): Promise<void> {
    let done = 0;
    let grown: Record<string, number> = {};
    let last: Record<string, number> | undefined;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      for (const until = done + times; done < until; done += atOnce) {
        await Promise.all(Array.from({ length: atOnce }, (_, n) => work(done + n)));
      }
      await nobodyThere();
      const before = last;
      for (let look = 0; look < LOOKS; look += 1) {
        last = await inspector.counts();
        grown = growth(before ?? last, last, 0.75 * times);
        if (Object.keys(grown).length === 0) break;
      }
      if (before && Object.keys(grown).length === 0) return;
    }
    assert.deepEqual(grown, {}, `more than before each time it was done ${times} times`);
  }

  async function nobodyThere(): Promise<void> {
    for (;;) {
      const metrics = String((await parley.request('GET', '/metrics')).body);
      const levels = /^parley_(?:watchers|sandboxes_open|runs_running|queue_depth) (\d+)$/gm;
      if ([...metrics.matchAll(levels)].every(([, level]) => level === '0')) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Follows until something was said, and goes: without a word, where that can be. */
  async function comeBySocket(transport: 'websocket' | 'polling', id: string): Promise<void> {
    const query = { conversation_id: id, latest_event_id: '-1', session_api_key: parley.key };
    const client = io(parley.url, { transports: [transport], forceNew: true, reconnection: false, query });
    await new Promise((resolve, reject) => {
      client.once('oh_event', resolve);
      client.once('connect_error', reject);
    });
    const gone = new Promise((resolve) => client.once('disconnect', resolve));
    if (transport === 'polling') client.disconnect();
    else (client.io.engine.transport as unknown as { ws: { terminate: () => void } }).ws.terminate();
    await gone;
  }

  async function comeByStream(id: string): Promise<void> {
    const cut = new AbortController();
    const stream = await fetch(`${parley.url}/api/conversations/${id}/events/stream`, {
      headers: { 'X-Session-API-Key': parley.key },
      signal: cut.signal,
    });
    assert.equal(stream.status, 200);
    await stream.body?.getReader().read();
    cut.abort();
  }
});

function growth(
  before: Record<string, number>,
  after: Record<string, number>,
  least: number,
): Record<string, number> {
  const grown = Object.entries(after).map(([what, count]) => [what, count - (before[what] ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, more]) => more >= least));
}
