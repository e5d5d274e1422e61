/**
 * Requests made from our own description of the API, by the ten thousand: valid ones, almost valid ones and none at
 * all. `node test/hostile/requests.test.ts --requests 1000000 --seed 7` tries more, and others.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { type Operation, describedOperations } from './document.ts';
import { judge, judgeProblem } from './judge.ts';
import { type HostileRequest, hostileRequests } from './requests.ts';
import { type HostedService, hostService } from './service.ts';
import { StoredLook } from './stored.ts';
import { type Outcome, inDue, inject, overSocket, sendBytes } from './transport.ts';

const { values: given } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string', default: '20261121' } },
  strict: false,
});
const REQUESTS = Number(given.requests);
const seed = Number(given.seed);
/** The rest goes over sockets. */
const INJECTED = Math.ceil(REQUESTS * 0.8);
const SENT = Math.ceil(REQUESTS * 0.15);
const BYTES = Math.ceil(REQUESTS * 0.05);

/** What a bystander has stored; nobody else ever sees it. */
const MARK = 'only-the-bystander-knows-this';
/** Bytes the heap may have grown by when all is done: caches have a size, and are full by the time it is first taken. */
const GROWTH = 48 * 2 ** 20;

describe('hostile requests', () => {
  let service: HostedService;
  let stored: StoredLook;
  let operations: Operation[];
  let keys: ReadonlyMap<string, string>;
  let bystander: string | undefined;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });

  before(async () => {
    service = await hostService();
    operations = await describedOperations(service.server);
    const [ann, bob, cat] = [
      await service.addUser('ann'),
      await service.addUser('bob'),
      await service.addUser('cat'),
    ];
    keys = new Map([
      ['ann', ann.key],
      ['bob', bob.key],
    ]);
    for (const { key } of [ann, bob]) await fillUp(service, key, 'nothing special');
    await fillUp(service, cat.key, MARK);
    stored = new StoredLook(service.dataDir);
    bystander = stored.look().get('cat');
  });
  after(async () => {
    agent.destroy();
    stored.close();
    await service.close();
  });

  /** One request by the given way: its answer is one of the document's, and a refused one has stored nothing. */
  async function tryOne(
    request: HostileRequest,
    send: (request: HostileRequest) => Promise<Outcome | null>,
  ): Promise<void> {
    const was = stored.look();
    const outcome = await send(request);
    const is = stored.look();
    if (outcome === null) return;
    judge(request.operation, outcome);
    assert.ok(!outcome.text.includes(MARK), 'an answer has what belongs to another user');
    const mayStore = outcome.status < 400;
    for (const [user, before] of was) {
      // A log-in is of the user whose key is in its body.
      const own = user === request.user || request.operation.path === '/api/login';
      if (!(mayStore && own)) assert.equal(is.get(user), before, `it has changed what is ${user}'s`);
    }
  }

  const isStream = ({ operation }: HostileRequest): boolean => operation.path.endsWith('/events/stream');

  async function tryMany(
    count: number,
    send: (request: HostileRequest) => Promise<Outcome | null>,
  ): Promise<void> {
    const requests = hostileRequests(operations, keys);
    await fc.assert(
      fc.asyncProperty(requests, (request) => tryOne(request, send)),
      // What is stored by then decides too: a smaller request is not the same one.
      { numRuns: count, seed, endOnFailure: true },
    );
  }

  it('are all answered as the description says, and when refused have stored nothing', async () => {
    const send = (request: HostileRequest): Promise<Outcome | null> =>
      isStream(request) ? overSocket(service.url, agent, request) : inject(service.server, request);
    const warm = Math.ceil(INJECTED / 4);
    await tryMany(warm, send);
    const used = heapUsed();
    await tryMany(INJECTED - warm, send);
    const grown = heapUsed() - used;
    assert.ok(grown < GROWTH, `the heap has grown by ${Math.round(grown / 2 ** 20)} MiB`);
  });

  it('are so too over connections that are used again', async () => {
    await tryMany(SENT, (request) => overSocket(service.url, agent, request));
  });

  it('of broken bytes are answered by errors of ours, or by hanging up', async () => {
    // Without a sandbox the service is not ready, and says so by 503.
    const broken = brokenBytes(
      hostileRequests(
        operations.filter(({ path }) => path !== '/ready'),
        keys,
      ),
    );
    await fc.assert(
      fc.asyncProperty(broken, async (bytes) => {
        for (const { status, type, body } of headsIn(await sendBytes(service.url, bytes))) {
          if (status < 400) continue;
          assert.equal(type, 'application/problem+json', `${status} ${body}`);
          judgeProblem(status, body, body);
        }
      }),
      { numRuns: BYTES, seed, endOnFailure: true },
    );
  });

  it('leave a service that works, and what is of a user who has asked nothing', async () => {
    assert.equal(stored.look().get('cat'), bystander);
    const path = '/api/conversations/mine';
    const headers = { 'x-session-api-key': keys.get('ann') ?? '' };
    const payload = { conversation_id: 'mine', initial_user_msg: 'Hello' };
    const made = await service.server.inject({ method: 'POST', url: '/api/conversations', headers, payload });
    assert.equal(made.statusCode, 200, made.body);
    const read = await inDue(service.server.inject({ url: path, headers }), path);
    assert.equal(read.json().conversation_id, 'mine');
  });
});

async function fillUp({ server }: HostedService, key: string, text: string): Promise<void> {
  const headers = { 'x-session-api-key': key };
  const calls = [
    ['/api/settings', { language: text, llm_model: 'openai/scripted' }],
    ['/api/secrets', { name: 'A_NAME', value: text, description: text }],
    ['/api/conversations', { conversation_id: 'one', initial_user_msg: text }],
    ['/api/conversations', { conversation_id: 'two', initial_user_msg: text }],
  ] as const;
  for (const [url, payload] of calls) {
    const { statusCode, body } = await server.inject({ method: 'POST', url, headers, payload });
    assert.ok(statusCode < 300, body);
  }
}

/** A request as it goes over the line, with bytes changed, left out, doubled, or two requests in one. */
function brokenBytes(requests: fc.Arbitrary<HostileRequest>): fc.Arbitrary<Uint8Array> {
  const change = fc.record({
    how: fc.constantFrom('set', 'cut', 'double', 'end'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    byte: fc.oneof(fc.constantFrom(0, 9, 10, 13, 32, 58, 127, 255), fc.nat(255)),
  });
  const framing = fc.constantFrom(
    '',
    'content-length: 5\r\n',
    'content-length: -1\r\n',
    'transfer-encoding: chunked\r\n',
    'transfer-encoding: chunked, identity\r\n',
    'content-length: 99999999999999999999\r\n',
    'expect: 100-continue\r\n',
    'expect: the-impossible\r\n',
    'upgrade: h2c\r\nconnection: upgrade\r\n',
    'host: twice.example\r\n',
    `x-session-api-key: ${'k'.repeat(20_000)}\r\n`,
  );
  return fc
    .record({ request: requests, changes: fc.array(change, { maxLength: 4 }), framing, known: fc.boolean() })
    .map(({ request, changes, framing: more, known }) => {
      const { operation, path, headers, body } = request;
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
      const length = known && body !== null ? `content-length: ${body.length}\r\n` : '';
      const head = `${operation.method} ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}${length}${more}\r\n`;
      return readable(
        changes.reduce(changed, Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)])),
      );
    });
}

function readable(bytes: Buffer): Buffer {
  const value = (): string => JSON.stringify(bytes.toString('latin1').slice(0, 3_000));
  return Object.defineProperty(bytes, fc.toStringMethod, { value });
}

function changed(bytes: Buffer, { how, at, byte }: { how: string; at: number; byte: number }): Buffer {
  const place = Math.floor(at * bytes.length);
  if (how === 'cut') return Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]);
  if (how === 'double') return Buffer.concat([bytes, bytes.subarray(place)]);
  if (how === 'end') return bytes.subarray(0, place);
  return Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place + 1)]);
}

/** The answers in what a server said over one connection (RFC 9112, 6.3); an unfinished one is not among them. */
function headsIn(said: string): { status: number; type: string; body: string }[] {
  const answers = [];
  for (let rest = said; rest.includes('\r\n\r\n');) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const head = rest.slice(0, end);
    const status = Number(/^HTTP\/1\.1 ([0-9]{3}) /.exec(head)?.[1]);
    assert.ok(status > 0, `no answer of HTTP/1.1: ${rest.slice(0, 200)}`);
    const length = Number(/^content-length: ([0-9]+)/im.exec(head)?.[1] ?? 0);
    const chunked = /^transfer-encoding: chunked/im.test(head);
    const last = chunked ? rest.indexOf('\r\n0\r\n\r\n', end - 2) + 7 : end + length;
    const body = rest.slice(end, last);
    const type = /^content-type: ([^;\r\n]*)/im.exec(head)?.[1] ?? '';
    answers.push({ status, type, body });
    if (last < end) break;
    rest = rest.slice(last);
  }
  return answers;
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}
