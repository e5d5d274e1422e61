import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import { guardedFetch, type GuardedFetch } from './guarded-fetch.ts';
import { NO_HOSTS, parseHostList } from './host-list.ts';
import { EgressRefused, servicePolicy, type EgressPolicy } from './policy.ts';
import type { Resolve } from './resolver.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    seen.push(incoming);
    handler(incoming, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { port: address.port, seen };
}

/** Every name is loopback, so that names can stand for different hosts. */
const toLoopback: Resolve = async () => ['127.0.0.1'];
const trusting = servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS });
const guardedBy = (policy: EgressPolicy, resolve: Resolve = toLoopback): GuardedFetch => {
  const made = guardedFetch(policy, { resolve });
  open.push(() => made.close());
  return made;
};
const refusal = (part: RegExp) => (error: unknown) =>
  error instanceof EgressRefused && part.test(error.message);

describe('a guarded fetch', () => {
  it('calls a private address while that is allowed, and says what to set when it no longer is', async () => {
    const { port, seen } = await serve((_, response) => response.end('hello'));
    let alone = true;
    const policy = servicePolicy({ privateAllowed: () => alone, allowPrivateHosts: NO_HOSTS });
    const fetch = guardedBy(policy);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/a`)).text(), 'hello');
    alone = false;
    await assert.rejects(
      fetch(`http://127.0.0.1:${port}/b`),
      refusal(new RegExp(`127\\.0\\.0\\.1.*add 127\\.0\\.0\\.1:${port} to PARLEY_ALLOW_PRIVATE_HOSTS`)),
    );
    assert.equal(seen.length, 1);
  });

  it('calls a private host that the list names, at its port alone', async () => {
    const { port } = await serve((_, response) => response.end('hello'));
    const parsed = parseHostList(`models.lan:${port}`);
    assert.ok(parsed.ok);
    const fetch = guardedBy(servicePolicy({ privateAllowed: () => false, allowPrivateHosts: parsed.list }));
    assert.equal((await fetch(`http://models.lan:${port}/`)).status, 200);
    await assert.rejects(fetch(`http://models.lan:${port + 1}/`), refusal(/PARLEY_ALLOW_PRIVATE_HOSTS/));
    await assert.rejects(fetch(`http://other.lan:${port}/`), refusal(/PARLEY_ALLOW_PRIVATE_HOSTS/));
  });

  it('streams a body both ways', async () => {
    const { port } = await serve((incoming, response) => void incoming.pipe(response));
    const fetch = guardedBy(trusting);
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const body = ReadableStream.from(
      (async function* () {
        for (const gate of gates) yield new TextEncoder().encode(await gate.promise);
      })(),
    );
    gates[0]?.resolve('one ');
    const response = await fetch(`http://echo.test:${port}/`, { method: 'POST', body, duplex: 'half' });
    const reader = response.body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), 'one ');
    gates[1]?.resolve('two');
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), 'two');
  });

  it('checks every redirect before following it', async () => {
    const { port, seen } = await serve((incoming, response) => {
      const to = new URL(incoming.url ?? '', 'http://x').searchParams.get('to') ?? '';
      response.writeHead(302, { location: to }).end();
    });
    const fetch = guardedBy(trusting, async (host) =>
      host === 'start.test' ? ['127.0.0.1'] : ['169.254.169.254'],
    );
    for (const to of [
      'http://169.254.169.254/latest/meta-data/',
      'http://[::ffff:169.254.169.254]/',
      'http://2852039166/',
      '//metadata.test/',
    ]) {
      await assert.rejects(
        fetch(`http://start.test:${port}/?to=${encodeURIComponent(to)}`),
        refusal(/169\.254\.169\.254|a9fe:a9fe/),
      );
    }
    for (const to of ['file:///etc/passwd', 'ftp://start.test/', 'http://user:pass@start.test/']) {
      await assert.rejects(fetch(`http://start.test:${port}/?to=${encodeURIComponent(to)}`), EgressRefused);
    }
    await assert.rejects(fetch(`http://start.test:${port}/?to=%3Fto%3D`), /redirect/);
    assert.ok(seen.every((request) => request.headers.host === `start.test:${port}`));
  });

  it('keeps credentials on a redirect within the origin and drops them, cookies and unknown headers on any other', async () => {
    const { port, seen } = await serve((incoming, response) => {
      if (incoming.url === '/same') response.writeHead(307, { location: '/away' }).end();
      else if (incoming.url === '/away')
        response.writeHead(302, { location: `http://b.test:${port}/end` }).end();
      else response.end('done');
    });
    const headers = { authorization: 'Bearer k', 'x-api-key': 'k', cookie: 'k=1', accept: 'text/plain' };
    const response = await guardedBy(trusting)(`http://a.test:${port}/same`, { headers });
    assert.equal(await response.text(), 'done');
    const [, within, away] = seen.map((request) => request.headers);
    assert.equal(within?.authorization, 'Bearer k');
    assert.equal(within?.['x-api-key'], 'k');
    assert.equal(away?.host, `b.test:${port}`);
    assert.equal(away.accept, 'text/plain');
    for (const name of ['authorization', 'x-api-key', 'cookie']) assert.equal(away[name], undefined, name);
  });

  it('sends a body again only within the origin', async () => {
    const bodies: string[] = [];
    const { port } = await serve((incoming, response) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('end', () => {
        bodies.push(`${incoming.method} ${incoming.headers.host} ${text}`);
        if (incoming.url === '/same') response.writeHead(308, { location: '/end' }).end();
        else if (incoming.url === '/away')
          response.writeHead(307, { location: `http://b.test:${port}/end` }).end();
        else if (incoming.url === '/see')
          response.writeHead(303, { location: `http://b.test:${port}/end` }).end();
        else response.end('done');
      });
    });
    const fetch = guardedBy(trusting);
    const post = (path: string) => fetch(`http://a.test:${port}${path}`, { method: 'POST', body: 'prompt' });
    assert.equal((await post('/same')).status, 200);
    await assert.rejects(post('/away'), refusal(/a\.test.*redirects to b\.test/));
    assert.equal((await post('/see')).status, 200);
    assert.deepEqual(bodies, [
      `POST a.test:${port} prompt`,
      `POST a.test:${port} prompt`,
      `POST a.test:${port} prompt`,
      `POST a.test:${port} prompt`,
      `GET b.test:${port} `,
    ]);
  });

  it('leaves a redirect to the caller who asks for that', async () => {
    const { port } = await serve((_, response) => response.writeHead(302, { location: '/x' }).end());
    const fetch = guardedBy(trusting);
    assert.equal((await fetch(`http://a.test:${port}/`, { redirect: 'manual' })).status, 302);
    await assert.rejects(fetch(`http://a.test:${port}/`, { redirect: 'error' }), /redirect/);
  });

  it('refuses a user name or password in the address without repeating it', async () => {
    await assert.rejects(guardedBy(trusting)('http://ann:hunter22@a.test/'), (error: Error) => {
      assert.ok(error instanceof EgressRefused);
      return !error.message.includes('hunter22') && !error.message.includes('ann');
    });
  });

  it('connects to the address that was checked when a name changes its answer in between', async () => {
    const { port, seen } = await serve((_, response) => response.end('hello'));
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const fetch = guardedBy(trusting, async () => answers.shift() ?? ['169.254.169.254']);
    await assert.rejects(fetch(`http://rebind.test:${port}/`), refusal(/169\.254\.169\.254.*never called/));
    assert.equal(seen.length, 0);
  });

  it('stops when its caller does', async () => {
    const { port } = await serve(() => {});
    const controller = new AbortController();
    const waiting = guardedBy(trusting)(`http://a.test:${port}/`, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
  });

  it('takes a Request as it takes an address', async () => {
    const { port } = await serve((incoming, response) => void incoming.pipe(response));
    const request = new Request(`http://a.test:${port}/`, { method: 'POST', body: 'text' });
    assert.equal(await (await guardedBy(trusting)(request)).text(), 'text');
  });
});
