import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { startRecordingServer, type ServerAnswer } from '../../test/support/recording-server.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { NO_HOSTS } from './host-list.ts';
import { lightFetch } from './light-fetch.ts';
import { guardedPlainFetch } from './plain-fetch.ts';
import { EgressRefused, servicePolicy } from './policy.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function serve(answer: ServerAnswer) {
  const server = await startRecordingServer(answer);
  open.push(() => server.close());
  return server;
}

function light(privateAllowed = true): typeof fetch {
  const policy = servicePolicy({ privateAllowed: () => privateAllowed, allowPrivateHosts: NO_HOSTS });
  const [plain, whole] = [guardedPlainFetch(policy), guardedFetch(policy)];
  open.push(
    () => plain.close(),
    () => whole.close(),
  );
  return lightFetch(plain, whole);
}

const never = new AbortController().signal;
const post = (signal = never): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Authorization: 'Bearer k' },
  body: '{"said":"été"}',
  signal,
});

describe('a light fetch', () => {
  it('sends what it is given, and answers as fetch does', async () => {
    const server = await serve((response) => response.writeHead(201, { 'X-Count': '7' }).end('grüße'));
    const response = await light()(`${server.url}/v1/chat?q=1`, post());
    assert.deepEqual([response.status, response.statusText, response.ok], [201, 'Created', true]);
    assert.equal(response.headers.get('x-count'), '7');
    assert.equal(await response.text(), 'grüße');
    const [request] = server.requests;
    assert.equal(request?.path, '/v1/chat?q=1');
    assert.equal(request.body, '{"said":"été"}');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.headers.authorization, 'Bearer k');
  });

  it('sends bytes as they are', async () => {
    const server = await serve((response) => response.end());
    await light()(server.url, { ...post(), body: new TextEncoder().encode('{"said":"été"}') });
    assert.equal(server.requests[0]?.body, '{"said":"été"}');
  });

  it('answers without a body where there is none', async () => {
    const server = await serve((response) => response.writeHead(204).end());
    const response = await light()(server.url, post());
    assert.deepEqual([response.status, await response.text()], [204, '']);
  });

  it('gives each piece when it has come', async () => {
    let late: ServerResponse | undefined;
    const server = await serve((response) => {
      response.writeHead(200).write('one');
      late = response;
    });
    const { body } = await light()(server.url, post());
    assert.ok(body && late);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, 'one');
    late.end('two');
    assert.equal((await reader.read()).value, 'two');
    assert.equal((await reader.read()).done, true);
  });

  it('follows who redirects, with all that was sent, and lets go of what redirects had to say', async () => {
    const left: Promise<unknown>[] = [];
    const server = await serve((response) => {
      if (response.req.url !== '/old') return response.end('there');
      left.push(once(response, 'close'));
      return response.writeHead(308, { location: '/new' }).write('moved, and no end of it');
    });
    assert.equal(await (await light()(`${server.url}/old`, post())).text(), 'there');
    await Promise.all(left);
    assert.deepEqual(
      server.requests.map(({ path, body }) => [path, body]),
      [
        ['/old', '{"said":"été"}'],
        ['/old', '{"said":"été"}'],
        ['/new', '{"said":"été"}'],
      ],
    );
  });

  it('follows who redirects and then breaks off', async () => {
    const server = await serve((response) => {
      if (response.req.url !== '/old') return response.end('there');
      response.writeHead(308, { location: '/new', 'content-length': '100' }).flushHeaders();
      return response.socket?.end();
    });
    assert.equal(await (await light()(`${server.url}/old`, post())).text(), 'there');
  });

  it('refuses a status that HTTP does not have, and lets go of the connection', async () => {
    let left: Promise<unknown> | undefined;
    const server = await serve((response) => {
      left = once(response, 'close');
      response.writeHead(700).write('odd, and no end of it');
    });
    await assert.rejects(light()(server.url, post()), (error) => {
      assert.ok(error instanceof TypeError && error.cause instanceof Error);
      assert.match(error.cause.message, /the status 700/);
      return true;
    });
    await left;
  });

  it('takes as it is what says that something is elsewhere, and is no redirect', async () => {
    const server = await serve((response) => response.writeHead(300).end('choose'));
    const response = await light()(server.url, post());
    assert.deepEqual([response.status, await response.text()], [300, 'choose']);
    assert.equal(server.requests.length, 1);
  });

  it('fails as fetch does when there is no answer, and when one is not whole', async () => {
    const broken = await serve((response) => response.destroy());
    await assert.rejects(light()(broken.url, post()), (error) => {
      assert.ok(error instanceof TypeError && error.cause instanceof Error);
      assert.equal(error.message, 'fetch failed');
      return true;
    });
    const server = await serve((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('begun');
      setImmediate(() => response.destroy());
    });
    const response = await light()(server.url, post());
    await assert.rejects(
      response.text(),
      (error) => error instanceof TypeError && error.message === 'terminated',
    );
  });

  it('says that an address is not allowed', async () => {
    await assert.rejects(light(false)('http://127.0.0.1:1/v1', post()), EgressRefused);
  });

  it('ends with its signal, before the head and in the body', async () => {
    const server = await serve((response) => {
      if (response.req.url === '/body') response.writeHead(200).write('begun');
    });
    const reason = new Error('stopped');
    const [head, body] = [new AbortController(), new AbortController()];
    const asked = light()(`${server.url}/head`, post(head.signal));
    await server.request(0);
    head.abort(reason);
    await assert.rejects(asked, reason);
    const response = await light()(`${server.url}/body`, post(body.signal));
    body.abort(reason);
    await assert.rejects(response.text(), reason);
  });

  it('ends the connection of an answer that nobody wants', async () => {
    let ended: Promise<unknown> | undefined;
    const server = await serve((response) => {
      ended = once(response, 'close');
      response.writeHead(200).write('for ever');
    });
    const { body } = await light()(server.url, post());
    await body?.cancel();
    await ended;
  });
});
