import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../errors.ts';
import type { FileRefusal, WorkspaceFiles } from '../sandbox/workspace-files.ts';

/** The largest file that is shown as text. */
export const MOST_TEXT = 10 * 1024 * 1024;
/** How many entries of a folder are listed at most. */
const MOST_LISTED = 20_000;

export interface Listing {
  /** Folders first, each with a "/" at the end; without regard to case. */
  names: string[];
  /** The folder has more than are listed. */
  more: boolean;
}

/** What is in a folder; of a workspace that is not made yet, nothing. @throws ServiceError file_not_found */
export async function listFolder(files: WorkspaceFiles, root: string, path: string): Promise<Listing> {
  const listed = await files.list(path, MOST_LISTED + 1);
  if (!listed.ok) {
    if (path === root && listed.why === 'not_found') return { names: [], more: false };
    throw notFound(path, listed.why);
  }
  const entries = listed.value.slice(0, MOST_LISTED);
  const folders = entries.filter(({ kind }) => kind === 'directory').map(({ name }) => `${name}/`);
  const others = entries.filter(({ kind }) => kind !== 'directory').map(({ name }) => name);
  const names = [...byName(folders), ...byName(others)];
  return { names, more: listed.value.length > MOST_LISTED };
}

function byName(names: readonly string[]): string[] {
  const keys = names.map((name) => [name.toLowerCase(), name] as const);
  return keys.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
}

/** @throws ServiceError file_not_found, file_too_large, file_is_binary */
export async function readText(files: WorkspaceFiles, path: string): Promise<string> {
  const read = await files.read(path, MOST_TEXT);
  if (!read.ok) throw read.why === 'too_large' ? tooLarge(path) : notFound(path, read.why);
  return textOf(path, read.value);
}

/** @throws ServiceError file_is_binary */
export function textOf(path: string, bytes: Uint8Array): string {
  if (!isUtf8(bytes) || bytes.includes(0)) {
    throw new ServiceError('file_is_binary', `${shown(path)} is no text in UTF-8.`);
  }
  return Buffer.from(bytes).toString('utf8');
}

export function tooLarge(path: string): ServiceError {
  return new ServiceError('file_too_large', `${shown(path)} has more than ${MOST_TEXT / 2 ** 20} MiB.`);
}

export function notFound(path: string, why: FileRefusal): ServiceError {
  return new ServiceError('file_not_found', `${shown(path)} ${REASONS[why]}.`);
}

const REASONS: Readonly<Record<FileRefusal, string>> = {
  not_found: 'is not in the workspace',
  not_a_file: 'is not a file',
  not_a_directory: 'is not a folder',
  outside_workspace: 'leads out of the workspace',
  too_large: 'is too large',
  not_permitted: 'may not be read or written',
  no_space: 'finds no room on the disk',
};

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 300));
}
