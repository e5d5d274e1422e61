import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { randomBytes } from 'node:crypto';
import { readZip } from '../../test/support/zip.ts';
import { zip, type ZipEntry } from './zip.ts';

const AT = new Date('2024-05-06T07:08:10Z');

async function* one(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function file(path: string, content: Uint8Array, size = content.length): ZipEntry {
  return { path, mode: 0o100644, mtime: AT, size, content: one(content) };
}

async function* all(...entries: ZipEntry[]): AsyncGenerator<ZipEntry> {
  yield* entries;
}

describe('a zip', () => {
  const written = async (
    entries: AsyncIterable<ZipEntry>,
    comment?: () => string,
    contents?: (name: string) => boolean,
  ) => {
    const bytes = await buffer(zip(entries, comment));
    return { ...(await readZip(bytes, contents)), bytes: bytes.length };
  };

  it('holds files of every size, with name, mode and time', async () => {
    const sizes = [0, 1, 32 * 1024, 32 * 1024 + 1, 1_000_000];
    const contents = sizes.map((size) => randomBytes(size));
    const { entries } = await written(
      all(...contents.map((content, n) => file(`dir/größe ${n}.bin`, content))),
    );
    assert.deepEqual(
      entries.map(({ name, content }) => [name, Buffer.compare(content, contents.shift() ?? Buffer.of(1))]),
      sizes.map((_, n) => [`dir/größe ${n}.bin`, 0]),
    );
    assert.ok(entries.every(({ mode, mtime }) => mode === 0o100644 && mtime.getTime() === AT.getTime()));
  });

  it('compresses what can be compressed', async () => {
    const { entries, bytes } = await written(
      all(file('small', Buffer.alloc(10_000)), file('big', Buffer.alloc(10_000_000))),
    );
    assert.deepEqual(
      entries.map(({ content }) => content.length),
      [10_000, 10_000_000],
    );
    assert.ok(bytes < 20_000, `${bytes} bytes`);
  });

  it('holds links as links, and empty folders', async () => {
    const target = Buffer.from('../elsewhere');
    const { entries } = await written(
      all(
        { path: 'folder/', mode: 0o040755, mtime: AT, size: 0, content: one() },
        { path: 'link', mode: 0o120777, mtime: AT, size: target.length, content: one(target) },
      ),
    );
    assert.deepEqual(
      entries.map(({ name, mode, content }) => [name, mode, content.toString()]),
      [
        ['folder/', 0o040755, ''],
        ['link', 0o120777, '../elsewhere'],
      ],
    );
  });

  it('is whole when a file has become shorter since it was looked at, however large it was', async () => {
    const { entries } = await written(
      all(
        file('small', Buffer.from('short'), 100),
        file('big', Buffer.from('short'), 100_000),
        file('beyond 32 bits', Buffer.from('short'), 5_000_000_000),
        file('last', Buffer.from('end')),
      ),
    );
    assert.deepEqual(
      entries.map(({ content }) => content.toString()),
      ['short', 'short', 'short', 'end'],
    );
  });

  it('holds more than 65,535 entries', async () => {
    const entries = async function* (): AsyncGenerator<ZipEntry> {
      for (let n = 0; n < 66_000; n += 1) yield file(`f/${n}`, Buffer.from(String(n)));
    };
    const read = await written(entries(), undefined, (name) => name === 'f/65999');
    assert.equal(read.entries.length, 66_000);
    assert.deepEqual(read.entries.at(-1)?.content.toString(), '65999');
  });

  it('ends with its comment, asked for at the end', async () => {
    let said = '';
    const entries = async function* (): AsyncGenerator<ZipEntry> {
      yield file('a', Buffer.from('a'));
      said = 'one is missing';
    };
    const read = await written(entries(), () => said);
    assert.equal(read.comment, 'one is missing');
  });

  it('fails as its source fails, and lets go of it', async () => {
    let closed = false;
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.alloc(100_000);
        throw new Error('the disk is broken');
      } finally {
        closed = true;
      }
    };
    const entry = { ...file('x', Buffer.alloc(0), 200_000), content: failing() };
    await assert.rejects(written(all(entry)), /the disk is broken/);
    assert.ok(closed);
  });
});
