import type { TreeEntry } from '../sandbox/workspace/tree.ts';
import { zip, type ZipEntry } from './zip.ts';

/** More would take more memory for the directory at the end than a request is worth. */
const MOST_ENTRIES = 1_000_000;
const LONGEST_NAME = 65_535;

/**
 * A workspace as a zip, made as it is read. Links are stored as links. Sockets, FIFOs, devices and what cannot be read
 * are left out, which the zip's comment says. A workspace without files gives an empty zip.
 * @param walk gives the entries, and tells what it leaves out
 */
export function archive(walk: (leftOut: () => void) => AsyncIterable<TreeEntry>): AsyncGenerator<Buffer> {
  let missing = 0;
  const leaveOut = (): void => void (missing += 1);
  const entries = async function* (): AsyncGenerator<ZipEntry> {
    let count = 0;
    for await (const entry of walk(leaveOut)) {
      count += 1;
      if (count > MOST_ENTRIES) throw new RangeError(`the workspace has more than ${MOST_ENTRIES} entries`);
      const packed = zipEntry(entry);
      if (Buffer.byteLength(packed.path) > LONGEST_NAME) leaveOut();
      else yield packed;
    }
  };
  return zip(entries(), () =>
    missing === 0
      ? ''
      : `Left out: ${missing} that could not be read, or were no files (sockets, FIFOs, devices).`,
  );
}

function zipEntry({ path, kind, stats, content }: TreeEntry): ZipEntry {
  return {
    path: `${portable(path)}${kind === 'directory' ? '/' : ''}`,
    // Without set-user-id and its like: whoever unpacks it is another user.
    mode: stats.mode & 0o170777,
    mtime: stats.mtime,
    size: kind === 'directory' ? 0 : stats.size,
    content,
  };
}

/** A backslash in a name leads out of the folder where Windows unpacks it. */
function portable(path: string): string {
  return path.replaceAll('\\', '_');
}
