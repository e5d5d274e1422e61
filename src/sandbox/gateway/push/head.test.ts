import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPushHead } from './head.ts';
import { packet } from './packet.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const NONE = '0'.repeat(40);

function line(text: string | Buffer): string {
  return packet(text).toString('latin1');
}

async function read(body: string, size = 7) {
  const bytes = Buffer.from(body, 'latin1');
  async function* cut(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const head = await readPushHead(cut());
  return head.ok ? head.head : 'unreadable';
}

describe('what a push asks for', () => {
  const updates = `${line(`${A} ${B} refs/heads/main\0 report-status side-band-64k`)}${line(`${NONE} ${A} refs/heads/new\n`)}${line(`${A} ${NONE} refs/tags/v1`)}0000`;
  const refs = [
    { name: 'refs/heads/main', from: A, to: B },
    { name: 'refs/heads/new', from: null, to: A },
    { name: 'refs/tags/v1', from: A, to: null },
  ];

  it('is read from its first packets, however they are cut, and where the pack begins', async () => {
    for (const size of [1, 7, 10_000]) {
      const head = await read(`${updates}PACK…`, size);
      assert.ok(head !== 'unreadable');
      assert.deepEqual(head.refs, refs);
      assert.deepEqual([...head.capabilities], ['report-status', 'side-band-64k']);
      assert.equal(head.packAt, updates.length);
    }
  });

  it('has options before the pack where it says so', async () => {
    const withOptions = `${line(`${A} ${B} refs/heads/main\0 push-options`)}0000${line('ci.skip')}0000`;
    const head = await read(`${withOptions}PACK`);
    assert.ok(head !== 'unreadable');
    assert.equal(head.packAt, withOptions.length);
  });

  it('is nothing when git only tries whether it may push', async () => {
    for (const body of ['0000', '']) {
      const head = await read(body);
      assert.ok(head !== 'unreadable');
      assert.deepEqual(head.refs, []);
    }
  });

  it('skips the commits at which a shallow clone ends', async () => {
    const head = await read(`${line(`shallow ${A}`)}${updates}`);
    assert.ok(head !== 'unreadable');
    assert.deepEqual(head.refs, refs);
  });

  it('is unreadable in any other form, cut off, signed, or with names that are no text', async () => {
    const odd = [
      'PACK',
      '0003',
      'zzzz',
      line(`${A} ${B} refs/heads/main`).slice(0, -3),
      `${line('push-cert\0')}${line(`${A} ${B} refs/heads/main\n`)}0000`,
      `${line(Buffer.from(`${A} ${B} refs/heads/\xff`, 'latin1'))}0000`,
      `${line(`${A} ${B} HEAD`)}0000`,
    ];
    for (const body of odd) assert.equal(await read(body), 'unreadable', body);
  });

  it('is bounded in refs, in names and in bytes', async () => {
    const many = Array.from({ length: 1_001 }, (_, n) => line(`${A} ${B} refs/heads/${n}`)).join('');
    assert.equal(await read(`${many}0000`, 60_000), 'unreadable');
    assert.equal(await read(`${line(`${A} ${B} refs/heads/${'x'.repeat(5_000)}`)}0000`), 'unreadable');
    assert.equal(await read(line(`shallow ${A}`).repeat(10_000), 60_000), 'unreadable');
  });
});
