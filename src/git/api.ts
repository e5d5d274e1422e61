import type { z } from 'zod';
import type { PlainFetch } from '../egress/plain-fetch.ts';
import { type Answer, mapAnswer } from './answer.ts';
import type { ApiPath } from './api-path.ts';
import type { ApiPlace } from './api-place.ts';
import { Exchange, type Subject } from './exchange.ts';
import { jsonIn, type Reply } from './reply.ts';

export interface Request extends Subject {
  method?: 'GET' | 'POST';
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  body?: unknown;
}

export interface Question<T> extends Request {
  shape: z.ZodType<T>;
}

export interface Told<T> {
  value: T;
  headers: Reply['headers'];
}

/** Asks a provider for which there is no library: by an {@link Exchange}, and so for one question of the port. */
export class Api {
  readonly place: ApiPlace;
  readonly #exchange: Exchange;

  constructor(place: ApiPlace, fetch: PlainFetch, signal: AbortSignal, deadlineMs: number) {
    this.place = place;
    this.#exchange = new Exchange(place, fetch, signal, deadlineMs);
  }

  async ask<T>(path: ApiPath, question: Question<T>): Promise<Answer<T>> {
    return mapAnswer(await this.tell(path, question), ({ value }) => value);
  }

  /** {@link ask}, with the head of the answer. */
  async tell<T>(path: ApiPath, question: Question<T>): Promise<Answer<Told<T>>> {
    const sent = await this.#send(path, question);
    if (sent.kind !== 'ok') return sent;
    const { text, headers } = sent.value;
    const read = this.#exchange.read(jsonIn(text), question.shape, question);
    return mapAnswer(read, (value) => ({ value, headers }));
  }

  /** The answer as it stands: a file. */
  async text(path: ApiPath, request: Request): Promise<Answer<string>> {
    return mapAnswer(await this.#send(path, request), ({ text }) => text);
  }

  async #send(path: ApiPath, request: Request) {
    const { method = 'GET', query = {}, body } = request;
    if (path === null) return this.#exchange.nowhere(request);
    const url = this.place.root + path + queryText(query);
    return await this.#exchange.send(
      { method, url, body: body === undefined ? body : JSON.stringify(body) },
      request,
    );
  }
}

/** With its question mark; "" for none. */
function queryText(query: NonNullable<Request['query']>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) given.set(name, String(value));
  }
  return given.size === 0 ? '' : `?${given.toString()}`;
}
