import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sandboxPolicy } from '../../egress/policy.ts';
import { startGateway, type Gateway } from './gateway.ts';

describe('requests that a program sends ahead of their answers', () => {
  const held: { path: string; response: ServerResponse }[] = [];
  const came = new EventEmitter();
  const host = createServer((incoming, response) => {
    const { url: path = '' } = incoming;
    held.push({ path, response });
    if (path === '/at-once') response.end('answered');
    came.emit('request');
  });
  let directory: string;
  let gateway: Gateway;
  let base: string;

  before(async () => {
    host.listen(0, '127.0.0.1');
    await once(host, 'listening');
    const address = host.address();
    assert.ok(address !== null && typeof address === 'object');
    base = `http://ok.test:${address.port}`;
    directory = await mkdtemp(join(tmpdir(), 'gateway-'));
    gateway = await startGateway({
      socketPath: join(directory, 'gateway.sock'),
      front: null,
      policy: sandboxPolicy({ allowHosts: { all: false, names: (name) => name === 'ok.test' } }),
      resolve: async () => ['127.0.0.1'],
    });
  });
  beforeEach(() => void held.splice(0));
  after(async () => {
    await gateway.close();
    host.closeAllConnections();
    host.close();
    await rm(directory, { recursive: true, force: true });
  });

  const ask = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\n\r\n`;

  function send(text: string): { socket: Socket; closed: Promise<unknown>; received: () => string } {
    const socket = connect(join(directory, 'gateway.sock'));
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
      came.emit('answer');
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(text);
    return { socket, closed, received: () => received };
  }

  async function until(what: 'request' | 'answer', is: () => boolean): Promise<void> {
    while (!is()) await once(came, what);
  }

  /** A whole exchange of another connection: whatever was to be passed on before, has been. */
  async function another(): Promise<void> {
    const { socket, received } = send(ask(`${base}/at-once`));
    await until('answer', () => received().includes('answered'));
    socket.destroy();
  }

  const paths = () => held.map(({ path }) => path);

  it('go on one at a time, in their order', async () => {
    const { socket, received } = send(`${ask(`${base}/1`)}${ask(`${base}/2`)}`);
    await until('request', () => held.length === 1);
    await another();
    assert.deepEqual(paths(), ['/1', '/at-once']);
    held[0]?.response.end('first');
    await until('request', () => held.length === 3);
    held[2]?.response.end('second');
    await until('answer', () => received().includes('second'));
    assert.ok(received().indexOf('first') < received().indexOf('second'));
    socket.destroy();
  });

  it('end with their connection, those that wait and the one under way', async () => {
    const { socket } = send(`${ask(`${base}/1`)}${ask(`${base}/2`)}`);
    await until('request', () => held.length === 1);
    const given = once(held[0]?.response ?? new EventEmitter(), 'close');
    socket.destroy();
    await given;
    await another();
    assert.deepEqual(paths(), ['/1', '/at-once']);
  });

  it('are sixteen at most', async () => {
    const refused = ask('http://127.0.0.1/');
    const { socket, received } = send(refused.repeat(16));
    await until('answer', () => received().split('HTTP/1.1 403 ').length === 17);
    socket.destroy();

    const more = send(refused.repeat(17));
    await more.closed;
    assert.ok(more.received().split('HTTP/1.1 403 ').length <= 17);
    await another();
  });
});
