import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PushReader } from './push.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const NONE = '0'.repeat(40);

function line(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
}

function read(body: string | Buffer, encoding?: string, size = 7) {
  const reader = new PushReader(encoding);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size));
  return reader.result();
}

describe('what a push asks for', () => {
  const body = `${line(`${A} ${B} refs/heads/main\0 report-status atomic`)}${line(`${NONE} ${A} refs/heads/new\n`)}${line(`${A} ${NONE} refs/tags/v1`)}0000PACK…`;
  const refs = [
    { name: 'refs/heads/main', from: A, to: B },
    { name: 'refs/heads/new', from: null, to: A },
    { name: 'refs/tags/v1', from: A, to: null },
  ];

  it('is read from its first lines, however they are cut', () => {
    assert.deepEqual(read(body), { refs, more: false });
    assert.deepEqual(read(body, 'identity', 1), { refs, more: false });
  });

  it('is read when it is compressed', () => {
    assert.deepEqual(read(gzipSync(body), 'gzip'), { refs, more: false });
  });

  it('is nothing when git only tries whether it may push', () => {
    assert.equal(read('0000'), null);
    assert.equal(read(''), null);
  });

  it('counts as unread when it has another form, or is cut off', () => {
    for (const odd of ['PACK', '0003', 'zzzz', line(`${A} ${B} refs/heads/main`).slice(0, -3)]) {
      assert.deepEqual(read(odd), { refs: [], more: true }, odd);
    }
    assert.deepEqual(read('no gzip', 'gzip'), { refs: [], more: true });
    assert.deepEqual(read(gzipSync(Buffer.alloc(5_000_000)), 'gzip'), { refs: [], more: true });
  });

  it('skips lines that are no updates: shallow commits, a certificate', () => {
    const certified = `${line(`shallow ${A}`)}${line('push-cert\0')}${line(`${A} ${B} refs/heads/main\n`)}0000`;
    assert.deepEqual(read(certified), { refs: refs.slice(0, 1), more: false });
  });

  it('is bounded in refs, names and bytes', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => line(`${A} ${B} refs/heads/${n}`)).join('');
    const told = read(`${many}0000`, undefined, 60_000);
    assert.deepEqual([told?.refs.length, told?.more], [20, true]);
    const long = read(`${line(`${A} ${B} ${'x'.repeat(5_000)}`)}0000`);
    assert.equal(long?.refs[0]?.name.length, 200);
  });
});
