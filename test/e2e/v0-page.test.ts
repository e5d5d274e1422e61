import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { io, type Socket } from 'socket.io-client';
import { PATIENCE_MS } from '../support/eventually.ts';
import { call, gate, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';

/** What comes on `oh_event`, as far as a page looks at it. */
interface Sent {
  /** Of an event its number, of a status its name. */
  id?: number | string;
  source?: string;
  message?: string;
  timestamp?: string;
  action?: string;
  observation?: string;
  args?: { content?: string };
  extras?: { agent_state?: string };
  status_update?: true;
  error?: true;
  conversation_title?: string;
}

/** A page as V0 has it: it logs in once, then sends no key, and comes back with the id of the last event it received. */
class Page {
  readonly events: Sent[] = [];
  readonly statuses: Sent[] = [];
  readonly #parley: Parley;
  readonly #cookie: string;
  #socket: Socket | undefined;

  constructor(parley: Parley, cookie: string) {
    this.#parley = parley;
    this.#cookie = cookie;
  }

  static async logIn(parley: Parley): Promise<Page> {
    const login = await parley.request('POST', '/api/login', { key: TEST_KEY }, '');
    return new Page(parley, login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '');
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    const response = await fetch(this.#parley.url + path, {
      method,
      headers: {
        cookie: this.#cookie,
        origin: this.#parley.url,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  open(id: string): void {
    const socket = io(this.#parley.url, {
      transports: ['websocket'],
      forceNew: true,
      reconnectionDelay: 20,
      reconnectionDelayMax: 50,
      query: { latest_event_id: -1, conversation_id: id, providers_set: '', session_api_key: 'null' },
      extraHeaders: { cookie: this.#cookie, origin: this.#parley.url },
    });
    socket.on('oh_event', (event: Sent) =>
      (typeof event.id === 'number' ? this.events : this.statuses).push(event),
    );
    socket.on('disconnect', () => {
      socket.io.opts.query = { ...socket.io.opts.query, latest_event_id: this.events.at(-1)?.id };
    });
    this.#socket = socket;
  }

  send(action: string, args: object): void {
    this.#socket?.emit('oh_user_action', { action, args });
  }

  close(): void {
    this.#socket?.disconnect();
  }

  async until(is: (event: Sent) => boolean): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (![...this.events, ...this.statuses].some(is)) {
      if (Date.now() > deadline) throw new Error(`in vain: ${JSON.stringify([this.events, this.statuses])}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

const state = (wanted: string) => (event: Sent) => event.extras?.agent_state === wanted;

describe('a page of V0', () => {
  let model: ModelServer;
  let parley: Parley;
  let page: Page;
  let folder: string;

  before(async () => {
    model = await startModelServer(
      byTurn([
        call('think', { thought: 'hm' }),
        gate('first', say('What next?')),
        gate('second', say('Done so.')),
        say('Once more.'),
      ]),
    );
    // One runs at a time: the second conversation is seen while it waits.
    folder = await mkdtemp(join(tmpdir(), 'parley-page-'));
    await writeFile(join(folder, 'index.html'), '<!doctype html><p>the page');
    parley = await startParley({
      PARLEY_SANDBOX: 'none',
      PARLEY_MAX_RUNNING: '1',
      PARLEY_WEB_DIR: folder,
    });
    page = await Page.logIn(parley);
    await page.ask('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
    });
  });
  after(async () => {
    page.close();
    await parley.close();
    await model.close();
    await rm(folder, { recursive: true });
  });

  it('is served at /, beside the page that logs in', async () => {
    for (const [path, text] of [
      ['/', 'the page'],
      ['/conversations/first', 'the page'],
      ['/login', '/api/login'],
    ] as const) {
      const answer = await fetch(parley.url + path, { headers: { accept: 'text/html' } });
      assert.equal(answer.status, 200);
      assert.ok((await answer.text()).includes(text), path);
    }
  });

  it('starts up by the requests it knows, without a key', async () => {
    assert.equal((await page.ask('GET', '/api/options/config')).status, 200);
    assert.equal((await page.ask('GET', '/api/settings')).status, 200);
    const created = await page.ask('POST', '/api/conversations', {
      conversation_id: 'first',
      initial_user_msg: 'hello',
    });
    assert.deepEqual(created, {
      status: 200,
      body: { status: 'ok', conversation_id: 'first', message: null, conversation_status: 'STARTING' },
    });
    // The page opens its socket when it reads exactly this.
    const ready = await parley.until('first', ({ status }) => status === 'RUNNING');
    assert.equal(ready.runtime_status, 'STATUS$READY');
    assert.equal((await page.ask('GET', '/api/conversations?limit=10')).status, 200);
  });

  it('sees a conversation that waits its turn as loading, first of all, then run', async () => {
    await page.ask('POST', '/api/conversations', { conversation_id: 'second', initial_user_msg: 'wait' });
    const other = await Page.logIn(parley);
    other.open('second');
    await other.until(state('loading'));
    page.open('first');
    await page.until(({ observation }) => observation === 'think');
    const { body } = await page.ask('GET', '/api/conversations/first');
    assert.equal((body as { num_connections: number }).num_connections, 1);
    model.open('first');
    await page.until(state('awaiting_user_input'));
    await other.until(state('running'));
    await other.until((status) => status.id === 'STATUS$READY');
    assert.deepEqual(
      other.events.slice(0, 5).map((event) => event.action ?? event.extras?.agent_state),
      ['loading', 'system', 'message', 'recall', 'running'],
      'as V0 begins; that the agent was asked to run is told to those alone who come later',
    );
    other.close();
  });

  it('is sent nothing that its chat could not show', () => {
    for (const event of page.events) {
      for (const member of ['id', 'source', 'message', 'timestamp'] as const) {
        assert.notEqual(event[member], undefined, `${member} of ${JSON.stringify(event)}`);
      }
      assert.notEqual(event.observation, 'null');
    }
    const ids = page.events.map(({ id }) => Number(id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
  });

  it('loses and doubles nothing when the service crashes in the middle of an answer', async () => {
    page.send('message', { content: 'go on', image_urls: [], timestamp: new Date().toISOString() });
    await page.until(({ args }) => args?.content === 'go on');
    await parley.crash();
    await parley.start();
    model.open('second');
    await page.until(({ message }) => message === 'Done so.');
    const ids = page.events.map(({ id }) => Number(id));
    assert.equal(new Set(ids).size, ids.length, 'none twice');
    const owed = (await parley.events('first')).filter(
      (event) => 'action' in event && event.source !== 'environment' && event.action !== 'recall',
    );
    assert.deepEqual(
      owed.filter(({ id }) => !ids.includes(id)),
      [],
      'none lost',
    );
  });

  it('is told a new title, and what it may not ask for', async () => {
    await page.ask('PATCH', '/api/conversations/first', { title: 'A better one' });
    await page.until(({ conversation_title: title }) => title === 'A better one');
    page.send('no_such_action', {});
    await page.until((event) => event.error === true);
  });
});
