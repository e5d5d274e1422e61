import { createHash, randomBytes } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutcome, Sandbox } from '../../sandbox/sandbox.ts';

/** A file that keeps work which is nowhere else. */
export interface Kept {
  /** On the host. */
  path: string;
  bytes: number;
}

export type KeepOutcome = { ok: true; kept: Kept[] } | { ok: false; reason: string };

export interface KeepOptions {
  /** Where the files go on the host. */
  directory: string;
  /** How their names begin. */
  name: string;
  signal: AbortSignal;
}

/** Large repositories take their time; a sandbox that does not answer must not hold up the others for ever. */
const PATIENCE_MS = 10 * 60 * 1000;

const SCRIPT = readFileSync(new URL('keep-work.sh', import.meta.url), 'utf8');

/**
 * Keeps on the host what is in a workspace and nowhere else: bundles and patches, whole and on disk when it resolves.
 * Where not all of it could be kept, none of it is.
 */
export async function keepUnpushedWork(sandbox: Sandbox, options: KeepOptions): Promise<KeepOutcome> {
  const made = await run(sandbox, `set -- ${quote(sandbox.root)}\n${SCRIPT}`, options);
  if (made.exitCode !== 0) return { ok: false, reason: reasonOf(made) };
  const files = [...made.output.matchAll(/^([0-9a-f]{64}) (\d+) ([a-z0-9]+\.(?:bundle|patch))$/gm)];
  const kept: Kept[] = [];
  for (const [, sha256 = '', bytes = '', file = ''] of files) {
    const fetched = await fetchFile(sandbox, { sha256, bytes: Number(bytes), file }, options);
    if (fetched.ok) {
      kept.push(fetched.kept);
      continue;
    }
    for (const { path } of kept) await rm(path, { force: true });
    return fetched;
  }
  return { ok: true, kept };
}

async function fetchFile(
  sandbox: Sandbox,
  { sha256, bytes, file }: { sha256: string; bytes: number; file: string },
  options: KeepOptions,
): Promise<{ ok: true; kept: Kept } | { ok: false; reason: string }> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const draft = join(options.directory, `.${randomBytes(8).toString('hex')}`);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    await using output = await open(draft, flags, 0o600);
    const hash = createHash('sha256');
    let written = 0;
    const take = async (chunk: Uint8Array): Promise<void> => {
      written += chunk.length;
      hash.update(chunk);
      // What is more than was promised is not written: the disk is not the sandbox's to fill.
      if (written <= bytes) await output.appendFile(chunk);
    };
    const command = `cat -- "$HOME/.parley-kept/${file}" 2>/dev/null`;
    const read = await run(sandbox, command, options, take);
    if (read.exitCode !== 0) return { ok: false, reason: reasonOf(read) };
    if (written !== bytes || hash.digest('hex') !== sha256) {
      return { ok: false, reason: `${file} did not come out of the sandbox whole` };
    }
    await output.sync();
    const path = await nameIt(draft, options, file);
    await using directory = await open(options.directory, 'r');
    await directory.sync();
    return { ok: true, kept: { path, bytes } };
  } finally {
    await rm(draft, { force: true });
  }
}

/** Two users may have conversations of the same id; neither's file ever takes the other's place. */
async function nameIt(draft: string, { directory, name }: KeepOptions, file: string): Promise<string> {
  const [stem = '', ending = ''] = file.split('.');
  const base = ['1', 'files'].includes(stem) ? name : `${name}-${stem}`;
  for (let n = 1; ; n += 1) {
    const path = join(directory, `${base}${n === 1 ? '' : `.${n}`}.${ending}`);
    try {
      await link(draft, path);
      return path;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}

/** Free of what the conversation's own shell has defined and set. */
async function run(
  sandbox: Sandbox,
  command: string,
  { signal }: KeepOptions,
  onOutput?: (chunk: Uint8Array) => Promise<void>,
): Promise<CommandOutcome> {
  const clean = 'command env -i HOME="$HOME" PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C';
  return await sandbox.exec(`${clean} bash --norc --noprofile -c ${quote(command)}`, {
    timeoutMs: PATIENCE_MS,
    signal,
    ...(onOutput && { onOutput }),
  });
}

function reasonOf({ kind, exitCode, output, reason }: CommandOutcome): string {
  const said = output.trim().split('\n').at(-1)?.slice(0, 300);
  return reason ?? (said || `git ${kind} with ${exitCode}`);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
