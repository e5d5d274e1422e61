import { type Transform, PassThrough } from 'node:stream';
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';

/** The endings that a backup's name may have, and what each means. */
const BY_ENDING: readonly [RegExp, () => Transform][] = [
  [/\.tar$/i, () => new PassThrough()],
  [/\.(tar\.gz|tgz)$/i, () => createGzip()],
  [/\.(tar\.zst|tzst)$/i, () => createZstdCompress()],
];

/** What compresses a file of that name; null when its ending says nothing. */
export function compressionOf(name: string): (() => Transform) | null {
  return BY_ENDING.find(([ending]) => ending.test(name))?.[1] ?? null;
}

/** What opens a file that begins with these bytes, whatever it is called. */
export function decompressionOf(first: Buffer): Transform {
  if (first.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b]))) return createGunzip();
  if (first.subarray(0, 4).equals(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))) return createZstdDecompress();
  return new PassThrough();
}
