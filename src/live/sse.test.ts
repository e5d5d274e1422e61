import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { StoredEvent } from '../events/log.ts';
import { type SseTimes, writeEvents } from './sse.ts';
import { Subscriptions } from './subscriptions.ts';

/** A server that streams conversation 1 of a log in memory, and what a test does to it. */
async function streaming(times?: SseTimes) {
  const stored: StoredEvent[] = [];
  const subscriptions = new Subscriptions(async (_, { from, limit, maxBytes }) => {
    const page: StoredEvent[] = [];
    let bytes = 0;
    for (const event of stored.slice(from, from + limit)) {
      bytes += event.json.length;
      if (page.length > 0 && bytes > maxBytes) break;
      page.push(event);
    }
    return page;
  });
  let allowed = true;
  const server: Server = createServer((request, response) => {
    const from = Number(request.headers['last-event-id'] ?? -1) + 1;
    void writeEvents(response, {
      subscription: subscriptions.subscribe(1, from),
      allowed: () => Promise.resolve(allowed),
      // A reader on a busy machine is not to be taken for one that never reads.
      ...(times && request.headers['x-patience'] !== 'long' && { times }),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    subscriptions,
    commit(...bodies: string[]) {
      const events = bodies.map((body, index) => ({
        id: stored.length + index,
        json: JSON.stringify({ id: stored.length + index, body }),
      }));
      stored.push(...events);
      subscriptions.publish(1, events);
    },
    forbid: () => (allowed = false),
    /** Requests written at once on one connection: all that comes back. */
    speak(requests: string) {
      const socket = connect(port, '127.0.0.1').setEncoding('utf8');
      socket.write(requests);
      return socket;
    },
    async open(lastEventId?: number, patience = 'short'): Promise<IncomingMessage> {
      const headers = {
        'x-patience': patience,
        ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
      };
      const [response] = (await once(get({ port, headers, agent: false }), 'response')) as [IncomingMessage];
      return response.setEncoding('utf8');
    },
    async close() {
      subscriptions.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Reads until the text has what is looked for; gives all of it. */
async function readUntil(response: IncomingMessage, wanted: string): Promise<string> {
  let text = '';
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(wanted)) break;
  }
  return text;
}

const ids = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

test('a logged event has its id, a status has none', async () => {
  const s = await streaming();
  s.commit('a', 'b');
  const response = await s.open();
  await readUntil(response, '"b"');
  s.subscriptions.notify(1, {
    status_update: true,
    type: 'info',
    id: 'STATUS$READY',
    message: 'line\nbreak',
  });
  const text = await readUntil(response, 'READY');
  assert.match(text, /^event: status\ndata: \{.*line\\nbreak.*\}$/m);
  assert.deepEqual(ids(text), []);
  response.destroy();
  await s.close();
});

test('Last-Event-ID resumes after it, without a gap or a repetition', async () => {
  const s = await streaming();
  s.commit('a', 'b', 'c');
  const first = await s.open();
  assert.deepEqual(ids(await readUntil(first, '"c"')), [0, 1, 2]);
  first.destroy();
  s.commit('d', 'e');
  const second = await s.open(2);
  assert.deepEqual(ids(await readUntil(second, '"e"')), [3, 4]);
  second.destroy();
  await s.close();
});

test('a client that does not read is dropped, holds little, and resumes where it was', async () => {
  const s = await streaming({ comment: 60_000, stalled: 50 });
  const stalled = await s.open();
  const reader = await s.open(undefined, 'long');
  const large = 'x'.repeat(100_000);
  let read = '';
  reader.on('data', (text: string) => (read += text));
  for (let n = 0; n < 300; n += 1) {
    s.commit(large);
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  while (ids(read).length < 300) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(ids(read).at(-1), 299, 'who reads is not held up');
  while (s.subscriptions.watchers(1) > 1) await new Promise((resolve) => setTimeout(resolve, 5));
  let got = '';
  stalled.on('data', (text: string) => (got += text));
  await once(stalled, 'close').catch(() => {});
  const last = ids(got.slice(0, got.lastIndexOf('\n\n') + 2)).at(-1) ?? -1;
  assert.ok(last < 299, 'it was dropped before the end');
  const again = await s.open(last, 'long');
  assert.equal(ids(await readUntil(again, `"id":${last + 1},`))[0], last + 1);
  again.destroy();
  reader.destroy();
  await s.close();
});

test('a stream ends when its key does', async () => {
  const s = await streaming({ comment: 5, stalled: 1_000 });
  const response = await s.open();
  response.resume();
  s.forbid();
  await once(response, 'end');
  await s.close();
});

test('a client that goes leaves nothing behind', async () => {
  const s = await streaming();
  const response = await s.open();
  await readUntil(response, ':');
  assert.equal(s.subscriptions.watchers(1), 1);
  response.destroy();
  while (s.subscriptions.watchers(1) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await s.close();
});

test('a client that has gone before its stream begins leaves nothing behind', async () => {
  const subscriptions = new Subscriptions(() => Promise.resolve([]));
  const server = createServer((_, response) => {
    response.once('close', () => {
      const subscription = subscriptions.subscribe(1, 0);
      void writeEvents(response, { subscription, allowed: () => Promise.resolve(true) }).then(() =>
        server.close(),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n', () => client.destroy());
  await once(server, 'close');
  assert.equal(subscriptions.size, 0);
});

test('what is said to many is whole for each: several events at once, and letters of several bytes', async () => {
  const s = await streaming();
  const clients = await Promise.all([s.open(), s.open(), s.open()]);
  await Promise.all(clients.map((client) => readUntil(client, ':')));
  s.commit('é€😀', 'b');
  s.commit('c'.repeat(5_000));
  s.commit('end');
  for (const client of clients) {
    const read = await readUntil(client, '"end"');
    assert.deepEqual(ids(read), [0, 1, 2, 3]);
    assert.match(read, /^data: \{"id":0,"body":"é€😀"\}$/m);
    client.destroy();
  }
  await s.close();
});

test('HTTP/1.0 gets no chunks', async () => {
  const s = await streaming();
  s.commit('é');
  const client = s.speak('GET / HTTP/1.0\r\n\r\n');
  let got = '';
  client.on('data', (read: string) => (got += read));
  while (!got.includes('"é"')) await once(client, 'data');
  const [head = '', body = ''] = got.split('\r\n\r\n');
  assert.doesNotMatch(head, /chunked/i);
  assert.equal(body, ':\n\nid: 0\ndata: {"id":0,"body":"é"}\n\n');
  client.destroy();
  await s.close();
});

test('a stream that waits behind another on its connection comes after it', async () => {
  const s = await streaming();
  const ask = 'GET / HTTP/1.1\r\nHost: a\r\n';
  const answer = text(s.speak(`${ask}\r\n${ask}Connection: close\r\n\r\n`));
  while (s.subscriptions.watchers(1) < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  s.commit('a');
  s.commit('b');
  // Nothing that both have to do before they end waits for more than a promise.
  await new Promise((resolve) => setImmediate(resolve));
  s.subscriptions.close();
  const [, first = '', second = ''] = (await answer).split('HTTP/1.1 200 OK');
  for (const one of [first, second]) assert.deepEqual(ids(one), [0, 1]);
  await s.close();
});

test('a client that says it will send no more is let go, also in the middle of what is written', async () => {
  const s = await streaming();
  const client = s.speak('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  client.resume();
  await once(client, 'data');
  client.end();
  while (s.subscriptions.watchers(1) > 0) {
    s.commit('x'.repeat(10_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await s.close();
});
