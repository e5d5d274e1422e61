import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { ServiceError } from '../errors.ts';
import type { CommandOutcome, Sandbox } from '../sandbox/sandbox.ts';
import { cleanCommand, NO_REPOSITORY } from './git-script.ts';

/** Lends a sandbox for as long as `use` takes. */
export type InSandbox = <T>(signal: AbortSignal, use: (sandbox: Sandbox) => Promise<T>) => Promise<T>;

/** A script of ours over the repository in `folder` of the workspace; "" for the workspace itself. */
export interface GitQuestion {
  script: string;
  folder: string;
  args?: readonly string[];
}

const DEADLINE_MS = 10 * 60_000;
/** A patch beyond this is broken off: the connection ends before it is whole, so that nobody takes it for whole. */
const MOST_STREAMED = 1024 ** 3;

/** Thrown to end a script that says more than is taken. */
export class TooMuch extends Error {}

/**
 * What a script says, whole. @throws ServiceError not_a_repository, sandbox_unavailable; TooMuch beyond `most` bytes
 */
export async function answered(
  inSandbox: InSandbox,
  question: GitQuestion,
  most: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  await ask(inSandbox, question, { most, signal, take: (chunk) => void chunks.push(chunk) });
  return Buffer.concat(chunks);
}

/**
 * What a script says, as it is read: resolves with the first of it, so that what goes wrong before that is thrown.
 * What goes wrong later ends the stream with an error. @throws as {@link answered}
 */
export async function streamed(
  inSandbox: InSandbox,
  question: GitQuestion,
  signal: AbortSignal,
): Promise<Readable> {
  const stream = new PassThrough();
  const begun = Promise.withResolvers<void>();
  const ended = new AbortController();
  stream.once('close', () => ended.abort(new Error('nobody reads the patch any more')));
  const either = AbortSignal.any([signal, ended.signal]);
  const take = async (chunk: Uint8Array): Promise<void> => {
    begun.resolve();
    if (!stream.write(chunk)) await once(stream, 'drain', { signal: either }).catch(() => {});
  };
  const pump = async (): Promise<void> => {
    try {
      await ask(inSandbox, question, { most: MOST_STREAMED, signal: either, take });
      begun.resolve();
      stream.end();
    } catch (error) {
      begun.reject(error);
      // Whoever reads is told by the end of the connection; who does not read yet, by the rejection.
      stream.on('error', () => {});
      stream.destroy(error instanceof Error ? error : new Error('it failed'));
    }
  };
  void pump();
  await begun.promise;
  return stream;
}

async function ask(
  inSandbox: InSandbox,
  { script, folder, args = [] }: GitQuestion,
  {
    most,
    signal,
    take,
  }: { most: number; signal: AbortSignal; take: (chunk: Uint8Array) => void | Promise<void> },
): Promise<void> {
  const enough = new AbortController();
  let length = 0;
  const outcome = await inSandbox(signal, (sandbox) => {
    const place = folder === '' ? sandbox.root : `${sandbox.root}/${folder}`;
    const above = sandbox.root.slice(0, sandbox.root.lastIndexOf('/')) || '/';
    return sandbox.exec(cleanCommand(script, [place, above, ...args]), {
      timeoutMs: DEADLINE_MS,
      signal: AbortSignal.any([signal, enough.signal]),
      onOutput: (chunk) => {
        length += chunk.length;
        if (length > most) enough.abort(new TooMuch());
        return enough.signal.aborted ? undefined : take(chunk);
      },
    });
  });
  signal.throwIfAborted();
  enough.signal.throwIfAborted();
  check(outcome);
}

function check({ kind, exitCode, reason }: CommandOutcome): void {
  if (kind === 'exited' && exitCode === 0) return;
  if (kind === 'exited' && exitCode === NO_REPOSITORY) {
    throw new ServiceError('not_a_repository', 'There is no git repository in the workspace.');
  }
  if (kind === 'lost') {
    const why = reason ?? 'no reason is known';
    throw new ServiceError('sandbox_unavailable', `The sandbox ended while git ran in it: ${why}`);
  }
  throw new ServiceError(
    'sandbox_unavailable',
    kind === 'timed_out'
      ? `git took longer than ${DEADLINE_MS / 60_000} minutes over the repository.`
      : `git failed over the repository, with exit code ${exitCode}.`,
  );
}
