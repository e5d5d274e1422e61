import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { createGzip, gzipSync } from 'node:zlib';
import { startRecordingServer, type ServerAnswer } from '../../test/support/recording-server.ts';
import { NO_HOSTS } from './host-list.ts';
import { guardedPlainFetch, type PlainFetch, type PlainRequest } from './plain-fetch.ts';
import { EgressRefused, servicePolicy, type EgressPolicy } from './policy.ts';
import { readBody } from './read-body.ts';
import type { Resolve } from './resolver.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function serve(answer: ServerAnswer) {
  const server = await startRecordingServer(answer);
  open.push(() => server.close());
  return server;
}

const trusting = servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS });
function guardedBy(policy: EgressPolicy, resolve: Resolve = async () => ['127.0.0.1']): PlainFetch {
  const made = guardedPlainFetch(policy, { resolve });
  open.push(() => made.close());
  return made;
}
const refusal = (part: RegExp) => (error: unknown) =>
  error instanceof EgressRefused && part.test(error.message);

const MOST = 1_000_000;
const never = new AbortController().signal;
const get: PlainRequest = { method: 'GET', headers: {}, redirect: 'manual', signal: never };

describe('a guarded plain fetch', () => {
  it('sends what it is given, and gives the head and the body of the answer', async () => {
    const { port, requests } = await serve((response) =>
      response.writeHead(201, { 'X-Count': '7', link: ['<a>', '<b>'] }).end('grüße'),
    );
    const headers = { authorization: 'Bearer k', 'content-type': 'text/plain' };
    const answer = await guardedBy(trusting)(new URL(`http://a.test:${port}/p?q=1`), {
      ...get,
      method: 'POST',
      headers,
      body: 'été',
    });
    assert.equal(answer.status, 201);
    const head = new Map(answer.headers);
    assert.equal(head.get('x-count'), '7');
    assert.equal(head.get('link'), '<a>, <b>');
    assert.equal(String(await readBody(answer, MOST)), 'grüße');
    const [request] = requests;
    assert.equal(request?.method, 'POST');
    assert.equal(request.path, '/p?q=1');
    assert.equal(request.body, 'été');
    assert.equal(request.headers.host, `a.test:${port}`);
    assert.equal(request.headers.authorization, 'Bearer k');
  });

  it('follows no redirect', async () => {
    const { port, requests } = await serve((response) => response.writeHead(307, { location: '/x' }).end());
    const answer = await guardedBy(trusting)(new URL(`http://a.test:${port}/`), get);
    assert.equal(answer.status, 307);
    assert.equal(String(await readBody(answer, MOST)), '');
    assert.equal(requests.length, 1);
  });

  it('asks for a packed answer and unpacks it, an empty one too; one that is not what it says is an error', async () => {
    const packed = (bytes: Buffer | string) => (response: ServerResponse) =>
      response.writeHead(200, { 'content-encoding': 'GZIP' }).end(bytes);
    const server = await serve(packed(gzipSync('hello')));
    const fetch = guardedBy(trusting);
    const ask = async () => readBody(await fetch(new URL(`http://a.test:${server.port}/`), get), MOST);
    assert.equal(String(await ask()), 'hello');
    assert.equal(server.requests[0]?.headers['accept-encoding'], 'gzip');
    server.answer(packed(''));
    assert.equal(String(await ask()), '');
    server.answer(packed('not packed'));
    await assert.rejects(ask(), { code: 'Z_DATA_ERROR' });
  });

  it('reads no packed answer beyond what it unpacks to', async () => {
    const gone = Promise.withResolvers<unknown>();
    const { port } = await serve((response) => {
      gone.resolve(once(response, 'close'));
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const packer = createGzip();
      packer.pipe(response);
      packer.write(Buffer.alloc(2 * MOST));
      packer.flush();
    });
    const answer = await guardedBy(trusting)(new URL(`http://a.test:${port}/`), get);
    assert.equal(await readBody(answer, MOST), null);
    await gone.promise;
  });

  it('calls nobody whom the policy forbids, by address or by name, and no other kind of address', async () => {
    const { port, requests } = await serve({ body: {} });
    const alone = guardedBy(servicePolicy({ privateAllowed: () => false, allowPrivateHosts: NO_HOSTS }));
    for (const host of ['127.0.0.1', 'a.test']) {
      await assert.rejects(
        alone(new URL(`http://${host}:${port}/`), get),
        refusal(/PARLEY_ALLOW_PRIVATE_HOSTS/),
      );
    }
    for (const address of ['http://ann:hunter22@a.test/', 'file:///etc/passwd', 'http://169.254.169.254/']) {
      await assert.rejects(guardedBy(trusting)(new URL(address), get), EgressRefused);
    }
    assert.equal(requests.length, 0);
  });

  it('connects to the address that was checked when a name changes its answer in between', async () => {
    const { port, requests } = await serve({ body: {} });
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const fetch = guardedBy(trusting, async () => answers.shift() ?? ['169.254.169.254']);
    await assert.rejects(
      fetch(new URL(`http://rebind.test:${port}/`), get),
      refusal(/169\.254\.169\.254.*never called/),
    );
    assert.equal(requests.length, 0);
  });

  it('stops when its caller does, before the head of an answer and in its body', async () => {
    const server = await serve(() => {});
    const fetch = guardedBy(trusting);
    const url = new URL(`http://a.test:${server.port}/`);
    const first = new AbortController();
    const waiting = fetch(url, { ...get, signal: first.signal });
    await server.request(0);
    first.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);

    server.answer((response) => void response.writeHead(200).write('a beginning'));
    const second = new AbortController();
    const answer = await fetch(url, { ...get, signal: second.signal });
    const reading = readBody(answer, MOST);
    second.abort(new Error('enough'));
    await assert.rejects(reading, /enough/);
  });

  it('stops when its caller does, while the host is looked up and while a connection is made', async () => {
    const { port, requests } = await serve({ body: {} });
    const found = Promise.withResolvers<string[]>();
    const looking = new AbortController();
    const slow = guardedBy(trusting, () => found.promise);
    const lookedUp = slow(new URL(`http://a.test:${port}/`), { ...get, signal: looking.signal });
    looking.abort(new Error('enough'));
    await assert.rejects(lookedUp, /enough/);
    found.resolve(['127.0.0.1']);
    await slow(new URL(`http://a.test:${port}/second`), get);
    assert.deepEqual(
      requests.map(({ path }) => path),
      ['/second'],
    );

    const silent = createServer().listen(0, '127.0.0.1');
    open.push(async () => silent.close());
    await once(silent, 'listening');
    const connecting = new AbortController();
    const url = new URL(`https://a.test:${(silent.address() as AddressInfo).port}/`);
    const connected = once(silent, 'connection') as Promise<[Socket]>;
    const greeting = guardedBy(trusting)(url, { ...get, signal: connecting.signal });
    const [socket] = await connected;
    connecting.abort(new Error('enough'));
    await assert.rejects(greeting, /enough/);
    socket.destroy();
  });
});
