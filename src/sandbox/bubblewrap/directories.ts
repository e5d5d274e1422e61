import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { runProgram } from './programs.ts';

const TREE_MS = 5 * 60_000;

/**
 * Makes a conversation's directory if it is missing, and the sandbox's user its owner. Only while no sandbox runs on
 * it. Links in it are never followed.
 */
export async function prepareDirectory(
  path: string,
  user: { uid: number; gid: number } | null,
): Promise<void> {
  // Another user has to pass through what is above, or each launch takes a mount namespace of its own to get there.
  if (user !== null) await mkdir(dirname(path), { recursive: true, mode: 0o711 });
  const made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (made !== undefined && user !== null) await chown(path, user.uid, user.gid);
  const entry = await lstat(path);
  if (!entry.isDirectory()) throw new Error(`${path} is not a directory`);
  // What is inside may belong to another uid: restored from a backup, or from before the base uid was changed.
  if (user !== null && entry.uid !== user.uid) await giveTree(path, user);
  // A command may have closed its own root directory, and nothing could start there again.
  if ((entry.mode & 0o700) !== 0o700) await chmod(path, entry.mode | 0o700);
}

async function giveTree(path: string, user: { uid: number; gid: number }): Promise<void> {
  await chown(path, user.uid, user.gid);
  const { code, stderr } = await runProgram(
    'chown',
    ['-RPh', `${user.uid}:${user.gid}`, '--', path],
    TREE_MS,
  );
  if (code !== 0) throw new Error(`${path} could not be given to uid ${user.uid}: ${stderr.trim()}`);
}

/**
 * Removes a directory with whatever a sandbox left in it: files of another uid, closed directories, trees deeper than
 * the longest path, links out of it. The programs of the host do it, as they walk by descriptor and follow no link.
 */
export async function removeTree(path: string): Promise<void> {
  if ((await lstat(path).catch(() => null)) === null) return;
  let ended = await runProgram('rm', ['-rf', '--one-file-system', '--', path], TREE_MS);
  if (ended.code !== 0) {
    // Without root a directory must be opened before it can be emptied.
    await runProgram('chmod', ['-R', 'u+rwX', '--', path], TREE_MS);
    ended = await runProgram('rm', ['-rf', '--one-file-system', '--', path], TREE_MS);
  }
  if (ended.code !== 0) throw new Error(`${path} could not be removed: ${ended.stderr.trim()}`);
}
