import { isUtf8 } from 'node:buffer';

import { HIDDEN } from '../../secrets/secret.ts';
import type { FileRefusal, WorkspaceFiles } from '../../sandbox/workspace-files.ts';

/** The largest file the editor opens. */
export const MAX_FILE_BYTES = 2 * 1024 * 1024;

/** Why a text is not written. */
export const HIDDEN_IN_TEXT = `The text has ${HIDDEN} in it, which stands where a secret was hidden from you. It is not written to files: refer to the secret by the name of its environment variable.`;

/** A path as the agent says it, where the sandbox has its workspace elsewhere than at `/workspace`. */
export function pathIn(root: string, path: string): string {
  return /^\/workspace(\/|$)/.test(path) ? root + path.slice('/workspace'.length) : path;
}

export type TextFile = { ok: true; text: string } | { ok: false; missing: boolean; problem: string };

/** Reads a file of the workspace as UTF-8 text; the problem is a sentence for the model. */
export async function readText(files: WorkspaceFiles, path: string): Promise<TextFile> {
  const read = await files.read(path, MAX_FILE_BYTES);
  if (!read.ok) {
    return { ok: false, missing: read.why === 'not_found', problem: refusal(path, read.why, read.detail) };
  }
  if (read.value.includes(0)) return notText(path, 'is a binary file');
  if (!isUtf8(read.value)) return notText(path, 'is not UTF-8 text');
  return { ok: true, text: Buffer.from(read.value).toString('utf8') };
}

function notText(path: string, what: string): TextFile {
  return { ok: false, missing: false, problem: `${path} ${what}, which this tool does not open.` };
}

export function refusal(path: string, why: FileRefusal, detail: string): string {
  switch (why) {
    case 'not_found':
      return `There is no ${path}.`;
    case 'not_a_file':
      return `${path} is not a regular file.`;
    case 'not_a_directory':
      return `A part of ${path} is not a directory.`;
    case 'outside_workspace':
      return `${path} is outside of /workspace, where this tool does not go. Use the shell for it.`;
    case 'too_large':
      return `${path} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB, which this tool does not open. Use the shell for it.`;
    case 'no_space':
      return `There is no space left to write ${path}. Remove what is not needed.`;
    default:
      return `${path} may not be opened like this: ${detail}`;
  }
}
