import { closeSync, openSync, readSync } from 'node:fs';

/** No value is as long. What has no end, such as a device, is read no further. */
const LONGEST_FILE = 64 * 1024;

/** The variable that names a file in which another one stands. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/** A variable as whoever is to mend it has written it. */
export function spelled(env: NodeJS.ProcessEnv, name: string): string {
  const file = fileVariable(name);
  return !env[name] && env[file] ? file : name;
}

/**
 * What a variable says, or the file that is named for it; undefined where neither is set, and where `problems` now say
 * why it cannot be known.
 */
export function valueOf(env: NodeJS.ProcessEnv, name: string, problems: string[]): string | undefined {
  const value = env[name];
  const file = env[fileVariable(name)];
  if (!file) return value === '' ? undefined : value;
  if (value) {
    problems.push(`${name} and ${fileVariable(name)} are both given; one of them must go`);
    return undefined;
  }
  const read = textOf(file);
  if ('text' in read) return read.text;
  problems.push(`${fileVariable(name)} names ${read.problem}`);
  return undefined;
}

function textOf(file: string): { text: string } | { problem: string } {
  try {
    const bytes = beginningOf(file);
    if (bytes.length > LONGEST_FILE) return { problem: 'a file that is too long to be a value' };
    const text = bytes.toString().trim();
    return text === '' ? { problem: 'an empty file' } : { text };
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { problem: `a file that cannot be read (${why})` };
  }
}

/** One byte more than a value may have, of a file that has more. */
function beginningOf(file: string): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(LONGEST_FILE + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
