import { setTimeout as sleep } from 'node:timers/promises';
import { Sandboxes } from '../runs/sandboxes.ts';
import { unavailable } from '../sandbox/unavailable.ts';
import { DataDirectoryInUse, lockDataDirectory, type Storage } from '../storage/storage.ts';
import { workspacesIn } from '../data-directory.ts';

/** Milliseconds a running server has for it. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

/**
 * Sees to it that the workspaces of removed conversations go: a running server ends what runs in them and removes
 * them, and is waited for; without one they are removed here. Gives how many are left.
 */
export async function removeWorkspaces(storage: Storage, dataDir: string): Promise<number> {
  const { conversations } = storage.read;
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const keys = await conversations.removed();
    if (keys.length === 0 || Date.now() > deadline) return keys.length;
    // Each time anew: the server may end meanwhile.
    const lock = lockUnlessServed(dataDir);
    if (lock) {
      try {
        await removeHere(storage, dataDir, keys);
      } finally {
        lock.release();
      }
    } else {
      await sleep(LOOK_MS);
    }
  }
}

async function removeHere(storage: Storage, dataDir: string, keys: readonly number[]): Promise<void> {
  const provider = unavailable('none', 'The command line opens no sandbox.');
  const sandboxes = new Sandboxes({
    provider,
    confined: true,
    directory: workspacesIn(dataDir),
    most: 0,
    exists: () => Promise.resolve(false),
  });
  for (const key of keys) {
    await sandboxes.discard(key);
    await storage.transact(({ conversations }) => conversations.discarded(key));
  }
}

function lockUnlessServed(dataDir: string): { release(): void } | null {
  try {
    return lockDataDirectory(dataDir);
  } catch (error) {
    if (error instanceof DataDirectoryInUse) return null;
    throw error;
  }
}
