import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { io, type Socket } from 'socket.io-client';
import { type MessageEvent, WebSocket } from 'undici';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import { MemoryConversation } from '../../test/support/memory-conversation.ts';
import { agentMessage, stateChanged, userMessage } from '../events/build.ts';
import { LiveSockets } from '../live/socketio.ts';
import { WAITS_FOR_ITS_TURN } from '../live/status.ts';
import { eventRoutes } from './routes/events.ts';
import { loginRoutes } from './routes/login.ts';
import { socketRoutes } from './sockets.ts';

const CHECK_MS = 5;

describe('Socket.IO', () => {
  let conversation: MemoryConversation;
  let http: TestServer;
  const open: Socket[] = [];

  before(async () => {
    http = await startHttp((_, { auth }) => {
      conversation = new MemoryConversation();
      const sockets = new LiveSockets({
        subscriptions: conversation.subscriptions,
        onError: (error) => assert.ifError(error),
        times: { check: CHECK_MS },
      });
      const { service, subscriptions } = conversation;
      return [
        loginRoutes(auth),
        socketRoutes({ auth, service, sockets }),
        eventRoutes({ service, subscriptions, stillAllowed: () => Promise.resolve(true) }),
      ];
    });
    conversation.append(stateChanged('loading'), userMessage('hi'), agentMessage('hello'));
  });
  beforeEach(() => {
    conversation.status = 'RUNNING';
    conversation.queued = false;
    conversation.started = 0;
  });
  after(async () => {
    for (const socket of open) socket.disconnect();
    await http.close();
  });

  function come(query: Record<string, string>, headers: Record<string, string> = {}): Socket {
    const options = { transports: ['websocket'], forceNew: true, query, extraHeaders: headers };
    const socket = io(http.url, { ...options, reconnection: false });
    open.push(socket);
    return socket;
  }
  const happens = (socket: Socket, what: string): Promise<unknown> =>
    new Promise((resolve) => socket.once(what, resolve));
  const refusal = async (query: Record<string, string>, headers?: Record<string, string>) => {
    const { message, data } = (await happens(come(query, headers), 'connect_error')) as Error & {
      data: unknown;
    };
    return { message, data };
  };
  const withKey = () => ({ conversation_id: 'one', session_api_key: http.key });

  it('lets in by the key in the query, in a header, or as a bearer; "null" is none', async () => {
    await happens(come(withKey()), 'connect');
    const query = { conversation_id: 'one', session_api_key: 'null', providers_set: 'github,nonsense' };
    await happens(come(query, { 'x-session-api-key': http.key }), 'connect');
    await happens(come({ conversation_id: 'one' }, { authorization: `Bearer ${http.key}` }), 'connect');
    assert.equal((await refusal(query)).message, 'invalid_session_api_key');
  });

  it('refuses as V0: no conversation, a wrong key, an unknown conversation', async () => {
    assert.equal(
      (await refusal({ session_api_key: http.key })).message,
      'No conversation_id in query params',
    );
    const wrong = await refusal({ ...withKey(), session_api_key: 'wrong' });
    assert.equal(wrong.message, 'invalid_session_api_key');
    assert.equal((wrong.data as { code: string }).code, 'unauthorized');
    const unknown = await refusal({ ...withKey(), conversation_id: 'two' });
    assert.deepEqual(unknown.data, {
      code: 'conversation_not_found',
      detail: 'There is no conversation "two".',
      msg_id: 'CONVERSATION$NOT_FOUND',
    });
  });

  it('does what the client asks for, by both names, and says what it does not do', async () => {
    const socket = come({ ...withKey(), latest_event_id: '2' });
    await happens(socket, 'connect');
    const said: { error?: true; message: string }[] = [];
    socket.on('oh_event', (event: { error?: true; message: string }) => said.push(event));
    socket.emit('oh_user_action', {
      action: 'message',
      args: { content: 'do it', image_urls: [], timestamp: '2026-01-01T00:00:00Z' },
    });
    socket.emit('oh_action', { action: 'change_agent_state', args: { agent_state: 'paused' } });
    socket.emit('oh_user_action', { action: 'run', args: { command: 'ls' } });
    socket.emit('oh_user_action', { action: 'think', args: { thought: 'hm' } });
    socket.emit('oh_user_action', { action: 'browse', args: { url: 'http://x' } });
    socket.emit('oh_action', { action: 'recall', args: { query: 'x' } });
    socket.emit('oh_user_action', { action: 'finish' });
    socket.emit('oh_user_action', { action: 'no_such_action', args: {} });
    socket.emit('oh_user_action');
    const deep: unknown = JSON.parse('['.repeat(200) + ']'.repeat(200));
    socket.emit('oh_user_action', { action: 'call_tool_mcp', args: { name: 'n', arguments: { deep } } });
    socket.emit('oh_user_action', {
      action: 'think',
      args: JSON.parse('{"thought":"hm","__proto__":{}}') as unknown,
    });
    while (said.length < 5) await new Promise((resolve) => setTimeout(resolve, 2));
    const done = ['do it', 'paused', 'Running command: ls', 'think', 'browse', 'kept recall', 'finished'];
    assert.deepEqual(conversation.asked, done);
    assert.equal(said[0]?.message, 'do it');
    assert.match(
      said[1]?.message ?? '',
      /action must be one of "message", "change_agent_state", "run", "read"/,
    );
    assert.equal(said[2]?.message, 'Not valid: payload is required.');
    assert.equal(said[3]?.message, 'Not valid: payload is nested deeper than 100 levels.');
    assert.match(said[4]?.message ?? '', /payload\.args\.__proto__ is not a known member/);
    assert.ok(said.slice(1).every(({ error }) => error));
  });

  it('tells who comes that the conversation waits for its turn', async () => {
    conversation.queued = true;
    const status = await happens(come({ ...withKey(), latest_event_id: '1' }), 'oh_event');
    assert.deepEqual(status, WAITS_FOR_ITS_TURN);
    const stream = await fetch(`${http.url}/api/conversations/one/events/stream?start_id=1`, {
      headers: { 'x-session-api-key': http.key },
    });
    let text = '';
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('id: 2')) break;
    }
    assert.ok(text.includes(`event: status\ndata: ${JSON.stringify(WAITS_FOR_ITS_TURN)}\n\n`), text);
  });

  it('starts a stopped conversation for who comes, but not for who saw it stop', async () => {
    conversation.status = 'STOPPED';
    const last = conversation.stored.length - 1;
    const again = come({ ...withKey(), latest_event_id: String(last) });
    await happens(again, 'connect');
    again.emit('oh_user_action', {});
    await happens(again, 'oh_event');
    assert.equal(conversation.started, 0);
    const first = come({ ...withKey(), latest_event_id: 'x' });
    await happens(first, 'oh_event');
    assert.equal(conversation.started, 1);
  });

  it('takes its connections from a key that is revoked', async () => {
    const { key, userId } = await http.addUser('bob');
    const socket = come({ ...withKey(), session_api_key: key });
    await happens(socket, 'connect');
    const [row] = await http.storage.read.keys.listKeys(userId);
    assert.ok(row);
    const gone = happens(socket, 'disconnect');
    await http.storage.transact(({ keys }) => keys.revokeKey(row.id, new Date().toISOString()));
    await gone;
  });

  it('ends a connection whose payload is too large; others stay', async () => {
    const large = come(withKey());
    const other = come(withKey());
    await Promise.all([happens(large, 'connect'), happens(other, 'connect')]);
    large.emit('oh_user_action', { action: 'message', args: { content: 'x'.repeat(33 * 1024 * 1024) } });
    await happens(large, 'disconnect');
    assert.ok(other.connected);
  });

  describe('in a browser that has logged in', () => {
    let cookie: string;
    const query = 'EIO=4&transport=websocket&conversation_id=one&session_api_key=null';
    before(async () => {
      const login = await http.request('POST', '/api/login', { body: { key: http.key }, key: null });
      cookie = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
    });

    /** The status of the answer to a request for a WebSocket: 101 when it is one. */
    const asks = async (headers: Record<string, string>, path = `/socket.io/?${query}`): Promise<number> => {
      const asking = httpRequest(http.url + path, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
          ...headers,
        },
      }).end();
      const answered = Promise.race([once(asking, 'upgrade'), once(asking, 'response')]);
      const [answer, socket] = (await answered) as [IncomingMessage, { destroy(): void } | undefined];
      (socket ?? answer).destroy();
      return answer.statusCode ?? 0;
    };

    it('a page of ours needs no key', async () => {
      await happens(
        come({ conversation_id: 'one', session_api_key: 'null' }, { cookie, origin: http.url }),
        'connect',
      );
    });

    it('a page of elsewhere, of another port, or of none gets no WebSocket', async () => {
      const { port } = new URL(http.url);
      assert.equal(await asks({ cookie, origin: http.url }), 101);
      for (const origin of [
        'https://evil.example',
        `http://127.0.0.1:${Number(port) + 1}`,
        `http://localhost:${port}`,
        `https://127.0.0.1:${port}`,
        'null',
      ]) {
        assert.equal(await asks({ cookie, origin }), 403, origin);
      }
      assert.equal(await asks({ cookie }), 403, 'no origin');
    });

    it('a name that was led here (DNS rebinding) gets none, with a key neither', async () => {
      const host = 'rebound.example';
      assert.equal(await asks({ cookie, host, origin: `http://${host}` }), 421);
      assert.equal(await asks({ host, 'x-session-api-key': http.key }), 421);
    });

    it('long polling begins for a page of ours alone', async () => {
      const polling = `/socket.io/?${query.replace('websocket', 'polling')}`;
      const ask = async (headers: Record<string, string>) =>
        (await http.request('GET', polling, { key: null, headers: { cookie, ...headers } })).status;
      assert.equal(await ask({ 'sec-fetch-site': 'same-origin' }), 200);
      assert.equal(await ask({ 'sec-fetch-site': 'same-site' }), 403);
      assert.equal(await ask({}), 403);
      assert.equal(await ask({ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }), 403);
    });

    it('what asks for another protocol elsewhere is answered in this one', async () => {
      assert.equal(await asks({}, '/api/settings'), 401);
      assert.equal(await asks({ upgrade: 'h2c' }, '/nothing'), 404);
    });
  });

  it('speaks to python-socketio, byte by byte: polling, then the upgrade, then the conversation', async () => {
    const query = new URLSearchParams({
      ...withKey(),
      latest_event_id: '0',
      EIO: '4',
    });
    const base = `/socket.io/?transport=polling&${query.toString()}`;
    const opened = await http.request('GET', `${base}&t=1.5`, { key: null });
    assert.equal(opened.text[0], '0');
    const { sid, upgrades, maxPayload } = JSON.parse(opened.text.slice(1));
    assert.deepEqual([upgrades, maxPayload], [['websocket'], 32 * 1024 * 1024]);

    const socket = new WebSocket(
      `${http.url.replace('http', 'ws')}/socket.io/?transport=websocket&${query.toString()}&sid=${sid}&t=1.7`,
    );
    const frames: string[] = [];
    socket.addEventListener('message', ({ data }: MessageEvent) => frames.push(String(data)));
    const frame = async (): Promise<string> => {
      while (frames.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      return frames.shift() ?? '';
    };
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    socket.send('2probe');
    assert.equal(await frame(), '3probe');
    socket.send('5');
    socket.send('40{}');
    assert.match(await frame(), /^40\{"sid":"[^"]+"\}$/);
    assert.equal(await frame(), `42["oh_event",${conversation.stored[1]?.json}]`);
    assert.equal(await frame(), `42["oh_event",${conversation.stored[2]?.json}]`);
    socket.send('421["oh_user_action",{"action":"message","args":{"content":"from python"}}]');
    while ((await frame()) !== '431[]');
    assert.equal(conversation.asked.at(-1), 'from python');
    socket.send('41');
    socket.close();
  });

  it('speaks to python-socketio over long polling alone', async () => {
    const base = `/socket.io/?transport=polling&EIO=4&${new URLSearchParams(withKey()).toString()}`;
    const { text } = await http.request('GET', base, { key: null });
    const path = `${base}&sid=${JSON.parse(text.slice(1)).sid}`;
    const post = async (body: string) =>
      await http.request('POST', path, {
        key: null,
        body,
        headers: { 'content-type': 'text/plain;charset=UTF-8' },
      });
    assert.equal((await post('40')).text, 'ok');
    let got = '';
    while (!got.includes('"hello"')) got += `${(await http.request('GET', path, { key: null })).text}\u001e`;
    const [connected, first] = got.split('\u001e');
    assert.match(connected ?? '', /^40\{"sid":"[^"]+"\}$/);
    assert.equal(first, `42["oh_event",${conversation.stored[0]?.json}]`);
    assert.equal((await post('41\u001e1')).status, 200);
    assert.equal((await http.request('GET', path, { key: null })).status, 400, 'the session is over');
  });
});
