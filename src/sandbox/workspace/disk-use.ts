import { runProgram } from '../bubblewrap/programs.ts';

const LONGEST_MS = 2 * 60_000;

/** What directories take on the disk, in bytes; null when it took too long to count. Missing ones take nothing. */
export async function diskUse(directories: readonly string[]): Promise<number | null> {
  const { stdout } = await runProgram(
    'nice',
    ['du', '-sxc', '--block-size=1', '--', ...directories],
    LONGEST_MS,
  );
  const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
  return total === undefined ? null : Number(total);
}
