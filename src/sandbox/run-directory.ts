import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The name of every directory that {@link runDirectoryOf} gives. */
export const RUN_DIRECTORY = /^parley-([0-9]+-)?[0-9a-f]{8}$/;

/** Where the sandboxes of a service keep their sockets: short, as those need it, and of this data directory alone. */
export function runDirectoryOf(dataDir: string): string {
  const own = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  const root = process.getuid?.() === 0;
  return root ? `/run/parley-${own}` : join(tmpdir(), `parley-${process.getuid?.() ?? ''}-${own}`);
}
