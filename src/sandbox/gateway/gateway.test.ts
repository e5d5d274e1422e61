import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { parseHostList } from '../../egress/host-list.ts';
import { ownPort } from '../../../test/support/own-port.ts';
import { sandboxPolicy } from '../../egress/policy.ts';
import type { Resolve } from '../../egress/resolver.ts';
import { startGateway, type Gateway } from './gateway.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

interface Host {
  port: number;
  seen: { method: string; url: string; headers: IncomingMessage['rawHeaders']; body: string }[];
}

/** A web server on this machine that remembers what it was asked. */
async function startHost(
  answer?: (incoming: IncomingMessage, response: ServerResponse) => void,
): Promise<Host> {
  const seen: Host['seen'] = [];
  const server = createServer((incoming, response) => {
    const { method = '', url = '', rawHeaders: headers } = incoming;
    if (answer) return answer(incoming, response);
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    incoming.on('end', () => {
      seen.push({ method, url, headers, body });
      response.end('reached');
    });
  });
  const port = await listen(server);
  open.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { port, seen };
}

const NAMES: Record<string, string[]> = {
  'ok.test': ['127.0.0.1'],
  'loop.test': ['127.0.0.1'],
  'six.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'meta.test': ['169.254.169.254'],
  'private.test': ['10.0.0.1', '192.168.0.1'],
  localhost: ['127.0.0.1'],
};
const resolve: Resolve = async (host) => NAMES[host.toLowerCase()] ?? [];

/** A gateway that may reach `ok.test`, which is this machine, at the ports given. */
async function gatewayTo(
  ports: number[],
  names: Resolve = resolve,
  log: (line: string) => void = () => {},
): Promise<{ path: string; gateway: Gateway }> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'));
  open.push(() => rm(directory, { recursive: true, force: true }));
  const list = parseHostList(ports.map((port) => `ok.test:${port}`).join());
  assert.ok(list.ok);
  const path = join(directory, 'gateway.sock');
  const policy = sandboxPolicy({ allowHosts: list.list });
  const gateway = await startGateway({ socketPath: path, front: null, policy, resolve: names, log });
  open.push(() => gateway.close());
  return { path, gateway };
}

/** Sends bytes as they are and gives all that comes back until the connection ends. */
async function raw(path: string, text: string): Promise<string> {
  const socket = connect(path);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise((resolved) => socket.once('close', resolved));
  socket.write(text, 'latin1');
  await closed;
  return Buffer.concat(chunks).toString('latin1');
}

const LARGE = 64 * 1024 * 1024;

/** That many bytes, and how many of them were asked for. */
function largeSource(): { stream: Readable; taken: () => number } {
  let taken = 0;
  const chunk = Buffer.alloc(256 * 1024);
  function* chunks() {
    for (; taken < LARGE; taken += chunk.length) yield chunk;
  }
  return { stream: Readable.from(chunks(), { objectMode: false }), taken: () => taken };
}

/** The amount once it no longer grows, while the gateway has the time to pass on many other requests. */
async function settled(path: string, other: Host, amount: () => number): Promise<number> {
  let before = -1;
  for (let still = 0; still < 10; still += 1) {
    await get(path, `http://ok.test:${other.port}/`);
    if (amount() !== before) still = 0;
    before = amount();
  }
  return before;
}

const get = (path: string, url: string, more = '') =>
  raw(path, `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}Connection: close\r\n\r\n`);
const connectTo = (path: string, target: string) =>
  raw(path, `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);

const LOOPBACK =
  '127.0.0.1 127.1 127.0.1 127.255.255.254 0.0.0.0 0 0x7f000001 0x7f.1 0x7f.0.0.1 0X7F.0x0.0x0.0x1 2130706433 017700000001 ' +
  '0177.0.0.1 0177.1 0177.0.0.01 127.0.0.1. 127.000.000.001 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] ' +
  '[0:0:0:0:0:ffff:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [::ffff:0:127.0.0.1] ' +
  'localhost LOCALHOST localhost. a.localhost loop.test LOOP.test loop.test. six.test mapped.test';
const OTHERS =
  '169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [fe80::1] ' +
  '[fd00:ec2::254] meta.test metadata.google.internal 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 198.18.0.1 224.0.0.1 ' +
  '240.0.0.1 255.255.255.255 [fc00::1] [ff02::1] [2001::1] private.test printer.local nothing.test 100.100.100.200';

describe('a gateway', () => {
  it('passes a request on to a host that is allowed', async () => {
    const host = await startHost();
    const { path } = await gatewayTo([host.port]);
    const answer = await get(path, `http://ok.test:${host.port}/a?b=c`, 'Accept: x/y\r\n');
    assert.match(answer, /^HTTP\/1\.1 200 .*reached/s);
    assert.equal(host.seen[0]?.url, '/a?b=c');
  });

  it('is open to whoever is in the sandbox', async () => {
    const { path } = await gatewayTo([]);
    assert.equal((await stat(path)).mode & 0o777, 0o666);
  });

  it('reaches nothing of this machine or its networks, however it is spelled', async () => {
    const host = await startHost();
    const { path } = await gatewayTo([host.port]);
    for (const spelling of `${LOOPBACK} ${OTHERS}`.split(' ')) {
      const answers = await Promise.all([
        get(path, `http://${spelling}:${host.port}/`),
        get(path, `http://${spelling}/`),
        connectTo(path, `${spelling}:${host.port}`),
        connectTo(path, `${spelling}:443`),
      ]);
      for (const answer of answers) {
        assert.match(answer, /^HTTP\/1\.1 (400|403|502) [\s\S]*\r\n\r\ngateway: /, spelling);
      }
    }
    assert.deepEqual(host.seen, []);
  });

  const odd = [
    '/',
    '*',
    '//ok.test/',
    'ok.test/',
    'https://ok.test/',
    'ftp://ok.test/',
    'file:///etc/passwd',
    'http:ok.test',
    'http:/ok.test/',
    'http:///ok.test/',
    'http://',
    'http://ann@ok.test/',
    'http://ann:pass@ok.test/',
    'http://@ok.test/',
    'http://ok.test@loop.test/',
    'http://ok.test\\@loop.test/',
    'http://ok.test%2f@loop.test/',
    'http://ok.test%00/',
    'http://ok.test:99999/',
    'http://ok.test:-1/',
    'http://ok.test:80:80/',
    'http://[::1/',
    'http://[fe80::1%25eth0]/',
    'http://ok\xe9.test/',
    'http://%6f%6b.test/',
    'http://ok.test#/',
    'http://ok.test;/',
  ];
  for (const url of odd) {
    it(`does not read ${url} as an address`, async () => {
      const { path } = await gatewayTo([80]);
      assert.match(await get(path, url), /^HTTP\/1\.1 400 /);
    });
  }

  const tunnels = [
    'ok.test',
    'ok.test:',
    ':443',
    'ok.test:0',
    'ok.test:65536',
    'ok.test:44a',
    'a@ok.test:443',
    '[::1',
    'http://ok.test:443',
  ];
  for (const target of [...tunnels, 'ok.test:443/', '/']) {
    it(`opens no tunnel to "${target}"`, async () => {
      const { path } = await gatewayTo([443]);
      assert.match(await connectTo(path, target), /^HTTP\/1\.1 400 /);
    });
  }

  it('opens only ports 80 and 443 of what is public, and says which setting opens more', async () => {
    const { path } = await gatewayTo([], async () => ['203.0.113.1']);
    assert.match(
      await connectTo(path, 'public.test:22'),
      /403 .*add public\.test:22 to PARLEY_SANDBOX_ALLOW_HOSTS/s,
    );
  });

  it('says so in the status line, which is all that pip, npm and wget show of a refusal', async () => {
    const { path } = await gatewayTo([]);
    const told =
      /^HTTP\/1\.1 403 gateway: loop\.test \(127\.0\.0\.1\) is a loopback address: to allow it, .*\r\n/;
    assert.match(await connectTo(path, 'loop.test:443'), told);
    assert.match(await get(path, 'http://loop.test/'), told);
  });

  it('sends no header of the hop, writes Host anew and frames the body itself', async () => {
    const host = await startHost();
    const { path } = await gatewayTo([host.port]);
    const head = [
      `POST http://ok.test:${host.port}/x HTTP/1.1`,
      'Host: evil.test',
      'Connection: close, X-Named, Content-Length',
      'X-Named: 1',
      'Proxy-Authorization: Basic abc',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'Upgrade: websocket',
      'Keep-Alive: 5',
      'X-Kept: a',
      'X-Kept: b',
      'Content-Length: 5',
    ];
    await raw(path, `${head.join('\r\n')}\r\n\r\nhello`);
    const [seen] = host.seen;
    assert.equal(seen?.body, 'hello');
    const pairs = seen.headers.map((text) => text.toLowerCase()).join(' ');
    assert.doesNotMatch(pairs, /x-named|proxy|trailers|websocket|evil|keep-alive: 5/);
    assert.match(pairs, new RegExp(`x-kept a x-kept b .*content-length 5.*host ok\\.test:${host.port}`));
  });

  const smuggled = {
    'both lengths': 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two different lengths': 'Content-Length: 4\r\nContent-Length: 40\r\n\r\nabcd',
    'a length that is no number': 'Content-Length: +4\r\n\r\nabcd',
    'an unknown coding': 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'chunked before another coding': 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'a space before the colon': 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'a folded header': 'X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n',
    'a bare line feed': 'X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a bare carriage return': 'X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a NUL': 'X-A: b\0c\r\n\r\n',
    'a chunk of odd size': 'Transfer-Encoding: chunked\r\n\r\n0x4\r\nabcd\r\n0\r\n\r\n',
  };
  for (const [what, rest] of Object.entries(smuggled)) {
    it(`lets no second request through behind ${what}`, async () => {
      const host = await startHost();
      const { path } = await gatewayTo([host.port]);
      const url = `http://ok.test:${host.port}`;
      const second = `GET ${url}/second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      const answer = await raw(path, `POST ${url}/first HTTP/1.1\r\nHost: x\r\n${rest}${second}`);
      assert.match(answer, /HTTP\/1\.1 400 /);
      assert.ok(
        !host.seen.some(
          (request) => request.url === '/second' || request.headers.includes('Transfer-Encoding : chunked'),
        ),
      );
    });
  }

  it('refuses a target with a line break in it', async () => {
    const host = await startHost();
    const { path } = await gatewayTo([host.port]);
    const answer = await get(path, `http://ok.test:${host.port}/ HTTP/1.1\r\nX-Injected:`);
    assert.doesNotMatch(answer, /x-injected/i);
    assert.match(await get(path, `http://ok.test:${host.port}/\n/x`), /^HTTP\/1\.1 400 /);
    assert.ok(host.seen.every((request) => request.url === '/'));
  });

  it('looks a name up once and connects to the address that it checked', async () => {
    const host = await startHost();
    let lookups = 0;
    const looked = Promise.withResolvers<void>();
    const rebinding: Resolve = async () => {
      looked.resolve();
      return [(lookups += 1) === 1 ? '203.0.113.1' : '127.0.0.1'];
    };
    const { path } = await gatewayTo([], rebinding);
    const gone = connect(path);
    gone.write(`CONNECT rebind.test:443 HTTP/1.1\r\n\r\n`);
    await looked.promise;
    assert.match(await connectTo(path, `rebind.test:${host.port}`), /^HTTP\/1\.1 403 .*127\.0\.0\.1/s);
    gone.destroy();
    assert.equal(lookups, 2);
    assert.deepEqual(host.seen, []);
  });

  it('tunnels bytes both ways, and lets one side end before the other', async () => {
    const echo = createTcpServer({ allowHalfOpen: true }, (socket) => {
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.on('end', () => socket.end(text.toUpperCase()));
    });
    const port = await listen(echo);
    open.push(async () => echo.close());
    const { path } = await gatewayTo([port]);
    const socket = connect({ path, allowHalfOpen: true });
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
    socket.write(`CONNECT ok.test:${port} HTTP/1.1\r\n\r\nearly `);
    while (!answer.includes('\r\n\r\n')) await once(socket, 'data');
    socket.end('late');
    await once(socket, 'end');
    assert.equal(answer, 'HTTP/1.1 200 Connection Established\r\n\r\nEARLY LATE');
  });

  it('says of a host that does not answer only why', async () => {
    const port = await ownPort();
    const { path } = await gatewayTo([port]);
    assert.match(
      await get(path, `http://ok.test:${port}/`),
      /^HTTP\/1\.1 502 .*gateway: .*\(ECONNREFUSED\)/s,
    );
    assert.match(await connectTo(path, `ok.test:${port}`), /^HTTP\/1\.1 502 .*gateway: .*\(ECONNREFUSED\)/s);
  });

  it('does not make a cut answer look whole', async () => {
    const host = await startHost((_, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('part', () => response.destroy());
    });
    const { path } = await gatewayTo([host.port]);
    const answer = await get(path, `http://ok.test:${host.port}/`);
    assert.match(answer, /content-length: 10/i);
    assert.ok(!answer.includes('\r\n0\r\n'));
  });

  it('brings through an answer that comes before the whole request was sent', async () => {
    const host = await startHost((_, response) =>
      response.writeHead(413, { connection: 'close' }).end('too much'),
    );
    const { path } = await gatewayTo([host.port]);
    const body = 'x'.repeat(4_000_000);
    const answer = await raw(
      path,
      `POST http://ok.test:${host.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    assert.match(answer, /^HTTP\/1\.1 413 .*too much/s);
  });

  it('takes no more of a request than its host does', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    const host = await startHost((incoming, response) => {
      arrived.resolve(incoming);
      incoming.once('end', () => response.end('all of it'));
    });
    const small = await startHost();
    const { path } = await gatewayTo([host.port, small.port]);
    const sent = request({ socketPath: path, method: 'PUT', path: `http://ok.test:${host.port}/` });
    const answered = once(sent, 'response');
    const source = largeSource();
    source.stream.pipe(sent);
    const incoming = await arrived.promise;
    assert.ok((await settled(path, small, source.taken)) < LARGE / 2);

    let size = 0;
    incoming.on('data', (chunk: Buffer) => (size += chunk.length));
    await answered;
    assert.equal(size, LARGE);
  });

  it('takes no more of an answer than the sandbox does', async () => {
    const source = largeSource();
    const host = await startHost((_, response) => void source.stream.pipe(response));
    const small = await startHost();
    const { path } = await gatewayTo([host.port, small.port]);
    const sent = request({ socketPath: path, path: `http://ok.test:${host.port}/` });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    assert.ok((await settled(path, small, source.taken)) < LARGE / 2);

    let size = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) size += chunk.length;
    assert.equal(size, LARGE);
  });

  it('takes no more than 256 connections', async () => {
    const { path } = await gatewayTo([]);
    const sockets: Socket[] = [];
    let ended = 0;
    const dropped = Promise.withResolvers<void>();
    for (let i = 0; i < 266; i += 1) {
      const socket = connect(path);
      sockets.push(socket);
      socket.on('error', () => {});
      socket.once('close', () => (ended += 1) === 10 && dropped.resolve());
    }
    await dropped.promise;
    for (const socket of sockets) socket.destroy();
  });

  it('does not let a sandbox fill the log with refusals', async () => {
    const lines: string[] = [];
    const { path } = await gatewayTo([], resolve, (line) => lines.push(line));
    for (let i = 0; i < 110; i += 1) await get(path, 'http://localhost/');
    assert.equal(lines.length, 100);
    assert.match(lines[0] ?? '', /^refused: localhost /);
  });

  it('ends all that is open when it closes, and removes its socket', async () => {
    const host = await startHost(() => {});
    const silent = createTcpServer(() => {});
    const port = await listen(silent);
    open.push(async () => silent.close());
    const { path, gateway } = await gatewayTo([host.port, port]);
    const waiting = get(path, `http://ok.test:${host.port}/`);
    const tunnel = connect(path);
    tunnel.write(`CONNECT ok.test:${port} HTTP/1.1\r\n\r\n`);
    await once(tunnel, 'data');
    const ended = once(tunnel, 'close');
    await gateway.close();
    await gateway.close();
    await ended;
    assert.equal(await waiting, '');
    await assert.rejects(stat(path), { code: 'ENOENT' });
  });

  it('refuses a socket path that the system would cut', async () => {
    const policy = sandboxPolicy({ allowHosts: { all: false, names: () => false } });
    await assert.rejects(
      startGateway({ socketPath: `/tmp/${'x'.repeat(120)}`, front: null, policy }),
      RangeError,
    );
  });
});
