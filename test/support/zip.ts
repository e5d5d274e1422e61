import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';

export interface ReadEntry {
  name: string;
  /** As stat(2) has it. */
  mode: number;
  mtime: Date;
  content: Buffer;
}

/** Reads a zip by a program that is not ours, which checks sums, sizes and names; `contents` says which are read. */
export async function readZip(
  bytes: Buffer,
  contents: (name: string) => boolean = () => true,
): Promise<{ entries: ReadEntry[]; comment: string }> {
  const file = await promisify<Buffer, { lazyEntries: true }, ZipFile>(fromBuffer)(bytes, {
    lazyEntries: true,
  });
  const entries: ReadEntry[] = [];
  await new Promise<void>((resolve, reject) => {
    file.on('error', reject);
    file.on('end', resolve);
    const take = async (entry: Entry): Promise<void> => {
      entries.push({
        name: entry.fileName,
        mode: entry.externalFileAttributes >>> 16,
        mtime: entry.getLastModDate(),
        content: contents(entry.fileName) ? await contentOf(file, entry) : Buffer.of(),
      });
      file.readEntry();
    };
    file.on('entry', (entry: Entry) => void take(entry).catch(reject));
    file.readEntry();
  });
  return { entries, comment: file.comment };
}

async function contentOf(file: ZipFile, entry: Entry): Promise<Buffer> {
  const stream = await promisify<Entry, Readable>(file.openReadStream.bind(file))(entry);
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  // Not by iteration: these streams never close.
  await new Promise((resolve, reject) => stream.on('error', reject).on('end', resolve));
  return Buffer.concat(chunks);
}
