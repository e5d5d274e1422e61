import { stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/**
 * How bwrap, which looks up its sources as the sandbox's uid, gets at host paths. Below a directory that is closed
 * to others (`/root`, a 0700 home) root first mounts them, in a mount namespace of this one launch, under `stage`.
 */
export interface Reach {
  /** Null when every path can be reached as it stands. */
  stage: string | null;
  /** What the launcher mounts at `stage/0`, `stage/1`, … */
  staged: readonly string[];
  /** Where bwrap finds one of the paths, or what lies below one. */
  of(path: string): string;
}

/** Directories that every host has and no sandbox shows. */
const STAGES = ['/mnt', '/media', '/srv', '/opt', '/tmp', '/var', '/home'];

/** `gid` is the sandbox's own, as a run directory lets it in by group. */
export async function findReach(
  paths: readonly string[],
  user: { uid: number; gid: number } | null,
): Promise<Reach> {
  const staged: string[] = [];
  if (user !== null) {
    for (const path of paths) if (!(await isOpen(path, user))) staged.push(path);
  }
  if (staged.length === 0) return { stage: null, staged, of: (path) => path };
  const stage = await pickStage(paths);
  return {
    stage,
    staged,
    of(path) {
      const at = staged.findIndex((top) => path === top || path.startsWith(`${top}/`));
      return at === -1 ? path : join(stage, String(at), relative(staged[at] ?? '', path));
    },
  };
}

async function isOpen(path: string, user: { uid: number; gid: number }): Promise<boolean> {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const { mode, uid, gid } = await stat(parent);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (parent === '/') return true;
  }
}

/** The stage hides what is below it, so it is a directory that no source lies in. */
async function pickStage(paths: readonly string[]): Promise<string> {
  for (const stage of STAGES) {
    if (paths.some((path) => path === stage || path.startsWith(`${stage}/`))) continue;
    if ((await stat(stage).catch(() => null))?.isDirectory()) return stage;
  }
  throw new Error(
    `the sandbox's user cannot reach ${paths.join(', ')}: their parent directories are closed to others`,
  );
}
