import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Secret } from '../secrets/secret.ts';
import { Allowance } from './bounds.ts';
import { remoteFetch } from './remote-fetch.ts';
import type { RemoteServer } from './server.ts';

const MEGABYTE = 1024 * 1024;
const SERVER: RemoteServer = {
  kind: 'shttp',
  url: 'https://mcp.example/mcp',
  apiKey: new Secret('key-0123456789'),
  callMs: null,
};

/** A fetch that answers with these pieces. */
function answering(pieces: Iterable<Uint8Array>, type: string) {
  const authorizations: (string | null)[] = [];
  const broken: string[] = [];
  const allowance = new Allowance();
  allowance.renew('calling');
  const fetch = remoteFetch(
    SERVER,
    async (_, init) => {
      authorizations.push(new Headers(init?.headers).get('authorization'));
      const body = ReadableStream.from(pieces);
      return new Response(body, { headers: { 'content-type': type } });
    },
    allowance,
    (reason) => broken.push(reason),
  );
  return { fetch, authorizations, broken };
}

async function drained(response: Response): Promise<number> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
  return bytes;
}

test('the key goes to the origin of the server, whatever the path, and nowhere else', async () => {
  const { fetch, authorizations } = answering([], 'application/json');
  await fetch('https://mcp.example/other', { headers: { authorization: 'Bearer of another' } });
  await fetch('https://mcp.example:8443/mcp');
  await fetch('http://mcp.example/mcp');
  await fetch('https://evil.example/mcp', { headers: { authorization: 'Bearer key-0123456789' } });
  assert.deepEqual(authorizations, ['Bearer key-0123456789', null, null, null]);
});

test('events are counted one by one, however their ends are torn', async () => {
  function* events() {
    for (let n = 0; n < 40; n += 1) {
      yield Buffer.from(`data: ${'x'.repeat(MEGABYTE)}\n`);
      yield Buffer.from(n % 2 === 0 ? '\n' : '\r\n');
    }
  }
  const { fetch, broken } = answering(events(), 'text/event-stream');
  assert.ok((await drained(await fetch(SERVER.url, { method: 'POST' }))) > 40 * MEGABYTE);
  assert.deepEqual(broken, []);
});

test('an answer that is too large, or a flood of small ones, ends it', async () => {
  const large = answering(
    Array.from({ length: 40 }, () => Buffer.alloc(MEGABYTE, 'x')),
    'application/json',
  );
  await assert.rejects(large.fetch(SERVER.url, { method: 'POST' }).then(drained), { name: 'SaidTooMuch' });
  assert.deepEqual(large.broken, ['It sent a message of more than 16 MiB.']);
  const event = Buffer.from(`data: ${'x'.repeat(MEGABYTE)}\n\n`);
  const flood = answering(
    Array.from({ length: 300 }, () => event),
    'text/event-stream',
  );
  await assert.rejects(flood.fetch(SERVER.url).then(drained), { name: 'SaidTooMuch' });
  assert.deepEqual(flood.broken, ['It said more than 256 MiB to one question.']);
});

test('a flood of short events ends it, however few bytes they have', async () => {
  const events = Buffer.from('data: {}\n\n'.repeat(1_000));
  const flood = answering(
    Array.from({ length: 20 }, () => events),
    'text/event-stream',
  );
  await assert.rejects(flood.fetch(SERVER.url).then(drained), { name: 'SaidTooMuch' });
  assert.deepEqual(flood.broken, ['It said more than 20,000 lines to one question.']);
  const pretty = answering([Buffer.alloc(MEGABYTE, '\n')], 'application/json');
  assert.equal(await drained(await pretty.fetch(SERVER.url, { method: 'POST' })), MEGABYTE);
});

test('a server that asks and asks is not answered without end', async () => {
  const { fetch, broken, authorizations } = answering([], 'application/json');
  for (let n = 0; n < 500; n += 1) await fetch(SERVER.url, { method: 'POST' });
  await assert.rejects(fetch(SERVER.url, { method: 'POST' }), { name: 'SaidTooMuch' });
  assert.deepEqual(broken, ['It asked more than 500 questions of its own.']);
  assert.equal(authorizations.length, 500);
});
