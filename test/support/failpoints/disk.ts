import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A directory on a disk of its own that a test can fill. */
export interface SmallDisk {
  readonly directory: string;
  /** What a program must be started by to see the disk; nothing when everybody sees it. */
  readonly launcher: readonly string[];
  /** Leaves not a byte, or so many. */
  fill(left?: number): Promise<void>;
  free(): Promise<void>;
  close(): Promise<void>;
}

/** Root mounts it for all; an ordinary user can in a namespace, where programs are then started. */
export async function mountSmallDisk(bytes: number): Promise<SmallDisk> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-disk-'));
  const mount = ['mount', '-t', 'tmpfs', '-o', `size=${bytes},mode=0711`, 'tmpfs', directory];
  const [program = '', ...rest] = mount;
  if (process.getuid?.() === 0) {
    await run(program, rest);
    return diskAt(directory, directory, [], () => run('umount', [directory]));
  }
  const holder = spawn(
    'unshare',
    [
      '--user',
      '--map-current-user',
      '--keep-caps',
      '--mount',
      'sh',
      '-c',
      '"$@" && echo mounted && exec sleep infinity',
      'sh',
      ...mount,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(holder, 'exit');
  const [said] = await Promise.race([once(createInterface(holder.stdout), 'line'), ended]);
  if (said !== 'mounted')
    throw new Error('an ordinary user cannot mount here: unprivileged user namespaces are off');
  const launcher = ['nsenter', '--preserve-credentials', '--user', '--mount', '-t', String(holder.pid), '--'];
  return diskAt(directory, `/proc/${holder.pid}/root${directory}`, launcher, async () => {
    holder.kill('SIGKILL');
    await ended;
  });
}

function diskAt(
  directory: string,
  seenAt: string,
  launcher: readonly string[],
  unmount: () => Promise<unknown>,
): SmallDisk {
  const filler = join(seenAt, 'filler');
  return {
    directory,
    launcher,
    async fill(left = 0) {
      const file = await open(filler, 'a');
      try {
        for (let size = 1 << 20; size > 0; size = Math.floor(size / 2)) {
          const piece = Buffer.alloc(size);
          while (await fits(file.write(piece)));
        }
        await file.truncate((await file.stat()).size - left);
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler),
    async close() {
      await unmount();
      await rmdir(directory);
    },
  };
}

async function fits(writing: Promise<{ bytesWritten: number }>): Promise<boolean> {
  try {
    return (await writing).bytesWritten > 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
