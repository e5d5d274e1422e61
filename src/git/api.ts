import type { z } from 'zod';
import { HIDDEN } from '../secrets/secret.ts';
import type { Answer, ProviderFailure } from './answer.ts';
import { connectionFailure, failureOf, statusFailure } from './api-failure.ts';
import type { ApiPath } from './api-path.ts';
import type { ApiPlace, Reply } from './api-place.ts';

/** Milliseconds for all that one question of ours takes. */
export const DEADLINE_MS = 10_000;
/** A page of 100 repositories is about 700 KB at GitHub. */
const ANSWER_BYTES = 4 * 1024 * 1024;
/** Characters of a token from which on no other text looks like it. */
const HIDDEN_FROM = 8;

export interface Question<T> {
  method?: 'GET' | 'POST';
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  body?: unknown;
  shape: z.ZodType<T>;
  /** What is asked for, as it stands in a sentence: "the repository acme/app". */
  what: string;
  /** Of a POST that changes nothing. */
  isSearch?: boolean;
}
type Sent = Omit<Question<unknown>, 'shape'>;

export interface Told<T> {
  value: T;
  headers: Headers;
}

/**
 * Asks one provider. Redirects are not followed, so the credential goes nowhere else; an answer is read up to 4 MiB,
 * and must have the shape that is asked for. Use one for one question of the port: its deadline begins here.
 */
export class Api {
  readonly place: ApiPlace;
  readonly #fetch: typeof globalThis.fetch;
  readonly #caller: AbortSignal;
  readonly #deadline: AbortSignal;
  readonly #seconds: number;

  constructor(place: ApiPlace, fetch: typeof globalThis.fetch, signal: AbortSignal, deadlineMs: number) {
    this.place = place;
    this.#fetch = fetch;
    this.#caller = signal;
    this.#deadline = AbortSignal.timeout(deadlineMs);
    this.#seconds = deadlineMs / 1000;
  }

  async ask<T>(path: ApiPath, question: Question<T>): Promise<Answer<T>> {
    const told = await this.tell(path, question);
    return told.kind === 'ok' ? { kind: 'ok', value: told.value.value } : told;
  }

  /** {@link ask}, with the head of the answer. */
  async tell<T>(path: ApiPath, question: Question<T>): Promise<Answer<Told<T>>> {
    const sent = await this.#send(path, question);
    if (sent.kind !== 'ok') return sent;
    const { text, headers } = sent.value;
    const parsed = question.shape.safeParse(parsedJson(text));
    if (parsed.success) return { kind: 'ok', value: { value: parsed.data, headers } };
    const [issue] = parsed.error.issues;
    const where =
      issue && issue.path.length > 0 ? ` (at ${issue.path.map(String).join('.').slice(0, 100)})` : '';
    const message = `${this.place.name} gave an answer of a shape that it does not document${where} when it was asked for ${question.what}.`;
    return { kind: 'unexpected', message };
  }

  /** The answer as it stands: a file. */
  async text(path: ApiPath, question: Sent): Promise<Answer<string>> {
    const sent = await this.#send(path, question);
    return sent.kind === 'ok' ? { kind: 'ok', value: sent.value.text } : sent;
  }

  async #send(path: ApiPath, question: Sent): Promise<Answer<Reply>> {
    this.#caller.throwIfAborted();
    const { place } = this;
    const url = path === null ? null : addressOf(place.root, path, question.query ?? {});
    if (url === null) return failureOf(place, 'not_found', question.what);
    try {
      const response = await this.#fetch(url, this.#init(question));
      const { status, headers } = response;
      const text = this.#withoutToken(await boundedText(response));
      const failure = statusFailure(place, { status, headers, text: text ?? '' }, question.what);
      if (failure?.kind === 'unavailable') return this.#perhapsDone(failure, question);
      if (failure) return failure;
      if (text === null) return failureOf(place, 'too_large', question.what);
      return { kind: 'ok', value: { status, headers, text } };
    } catch (error) {
      this.#caller.throwIfAborted();
      if (!this.#deadline.aborted) {
        return this.#perhapsDone(connectionFailure(place, url.host, error), question);
      }
      const message = `${url.host} did not answer within ${this.#seconds} s: try again later.`;
      return this.#perhapsDone({ kind: 'unavailable', message }, question);
    }
  }

  /** Nobody knows what became of a request that got no answer: whoever writes has to look. */
  #perhapsDone(failure: ProviderFailure, { method = 'GET', isSearch }: Sent): ProviderFailure {
    if (method === 'GET' || isSearch === true || failure.kind !== 'unavailable') return failure;
    return { ...failure, message: `${failure.message} It may have been done all the same: look first.` };
  }

  #init({ method = 'GET', body }: Sent): RequestInit {
    const { accept = 'application/json', authorization, headers } = this.place;
    return {
      method,
      headers: {
        ...headers,
        accept,
        'user-agent': 'parley',
        ...(authorization && { authorization: authorization.unwrap() }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.any([this.#caller, this.#deadline]),
    };
  }

  /** A host may answer with what it was sent, alone or in what it says. */
  #withoutToken(text: string | null): string | null {
    const authorization = this.place.authorization?.unwrap();
    const token = this.place.token?.unwrap();
    let shown = text;
    // What comes after the scheme, and after a user name.
    for (const secret of [authorization?.split(' ')[1], token, token?.split(':')[1]]) {
      if (secret && secret.length >= HIDDEN_FROM) shown = shown?.replaceAll(secret, HIDDEN) ?? null;
    }
    return shown;
  }
}

/** Null when what is asked for would lie elsewhere than below the root. */
function addressOf(root: string, path: string, query: NonNullable<Question<unknown>['query']>): URL | null {
  const url = new URL(root + path);
  const base = new URL(root);
  if (url.href !== root + path || url.origin !== base.origin) return null;
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/** Null when it is larger than an answer may be. */
async function boundedText(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
