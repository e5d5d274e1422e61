import { pipeline, type Readable } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { unlessAborted } from '../unless-aborted.ts';
import { guardedClient, type GuardedOptions } from './guarded-client.ts';
import type { EgressPolicy } from './policy.ts';

/**
 * As much of `fetch` as an API is asked by: it follows no redirect, sends text or bytes, and its answer is what came,
 * to be read piece by piece. `fetch` itself is one, at three times the cost.
 */
export type PlainFetch = (url: URL, init: PlainRequest) => Promise<PlainAnswer>;

export interface PlainRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  redirect: 'manual';
  signal: AbortSignal;
}

export interface PlainAnswer {
  status: number;
  /** Names in small letters. */
  headers: Iterable<[name: string, value: string]>;
  body: AsyncIterable<Uint8Array> | null;
}

export type GuardedPlainFetch = PlainFetch & { close(): Promise<void> };

/** A plain `fetch` for addresses that users give, with the checks of a guarded one. Rejects with EgressRefused. */
export function guardedPlainFetch(policy: EgressPolicy, options?: GuardedOptions): GuardedPlainFetch {
  const client = guardedClient(policy, options);

  async function send(url: URL, { method, headers, body, signal }: PlainRequest): Promise<PlainAnswer> {
    const { agent } = await client.open(url);
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: { ...headers, 'accept-encoding': 'gzip' },
      body: body ?? null,
      signal,
    });
    const head = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      lineOf(value),
    ]);
    return {
      status: answer.statusCode,
      headers: head,
      body: unpacked(answer.body, answer.headers['content-encoding']),
    };
  }

  // The client stops what is sent; while a host is looked up and connected to, it waits.
  const guarded: PlainFetch = (url, init) => unlessAborted(send(url, init), init.signal);
  return Object.assign(guarded, { close: client.close });
}

/** One that came several times is a list (RFC 9110, 5.3). */
function lineOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

/** Packed only as it was asked for; who leaves off reading ends the connection. */
function unpacked(body: Readable, encoding: string | string[] | undefined): Readable {
  if (!/^(x-)?gzip$/i.test(lineOf(encoding))) return body;
  // Where the body ends, HTTP says: an empty one has no end of gzip's own. What goes wrong, who reads is told.
  return pipeline(body, createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }), () => {});
}
