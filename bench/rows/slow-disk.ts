import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Row, Subject } from '../row.ts';
import { besideRow } from '../support/beside.ts';
import { withConversations } from './post-conversations.ts';
import { withProviders } from './post-providers.ts';
import { withSettings } from './post-settings.ts';

const SYNC_MS = 10;

/** The three POSTs where each sync of the disk takes ten milliseconds longer, for us and for the bare server. */
export const slowDisk: Subject = {
  seconds: 180,
  measure: async (share) => {
    const env = await slowDiskEnv();
    const rows: Row[] = [];
    for (const withOperation of [withSettings, withConversations, withProviders]) {
      const options = { share, rounds: share === 1 ? 4 : 2, slowDisk: env };
      rows.push(...(await withOperation((operation) => besideRow(operation, options))));
    }
    return rows.map((row) => ({ ...row, what: `${row.what}, ${SYNC_MS} ms more for each sync` }));
  },
};

async function slowDiskEnv(): Promise<Record<string, string>> {
  const library = join(await mkdtemp(join(tmpdir(), 'slow-disk-')), 'slow-disk.so');
  await promisify(execFile)('cc', ['-O2', '-shared', '-fPIC', '-o', library, 'bench/support/slow-disk.c']);
  return { LD_PRELOAD: library, SLOW_DISK_MS: String(SYNC_MS) };
}
