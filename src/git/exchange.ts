import type { z } from 'zod';
import type { PlainAnswer, PlainFetch, PlainRequest } from '../egress/plain-fetch.ts';
import { readBody } from '../egress/read-body.ts';
import { HIDDEN } from '../secrets/secret.ts';
import { TimeLimit } from '../time-limit.ts';
import { type Answer, GivenUpMidway, ok, type ProviderFailure } from './answer.ts';
import { brokenOff, connectionFailure, failureOf, statusFailure } from './api-failure.ts';
import type { ApiPlace } from './api-place.ts';
import type { Reply } from './reply.ts';

/** Milliseconds for all that one question of ours takes. */
export const DEADLINE_MS = 10_000;
/** A page of 100 repositories is about 700 KB at GitHub. */
const ANSWER_BYTES = 4 * 1024 * 1024;
/** Characters of a token from which on no other text looks like it. */
const HIDDEN_FROM = 8;

/** A request but for who sends it. */
export interface Outgoing {
  method: string;
  url: string;
  /** JSON. */
  body?: string | undefined;
}

/** What a request is about. */
export interface Subject {
  /** As it stands in a sentence: "the repository acme/app". */
  what: string;
  /** Of a POST that changes nothing. */
  isSearch?: boolean;
}

/**
 * Carries requests to one provider, and adds the credential. Nothing but what lies below its root is asked, redirects
 * are not followed, so the credential goes nowhere else; an answer is read up to 4 MiB. Use one for one question of the
 * port: its deadline begins here.
 */
export class Exchange {
  readonly place: ApiPlace;
  readonly #fetch: PlainFetch;
  readonly #caller: AbortSignal;
  readonly #seconds: number;
  /** When its time is over, on the clock of `performance.now()`. */
  readonly #until: number;
  /** Whether something was sent that changes something. */
  #wrote = false;

  constructor(place: ApiPlace, fetch: PlainFetch, signal: AbortSignal, deadlineMs: number) {
    this.place = place;
    this.#fetch = fetch;
    this.#caller = signal;
    this.#seconds = deadlineMs / 1000;
    this.#until = performance.now() + deadlineMs;
  }

  async send(outgoing: Outgoing, subject: Subject): Promise<Answer<Reply>> {
    this.#throwIfGivenUp();
    const { place } = this;
    const url = addressBelow(place.root, outgoing.url);
    if (url === null) return this.nowhere(subject);
    this.#wrote ||= outgoing.method !== 'GET' && subject.isSearch !== true;
    using limit = new TimeLimit(this.#caller, this.#until - performance.now());
    let response: PlainAnswer | undefined;
    try {
      response = await this.#fetch(url, { ...this.#init(outgoing), signal: limit.signal });
      const { status } = response;
      const withoutToken = hiding(place);
      const headers = new Map(Array.from(response.headers, ([name, value]) => [name, withoutToken(value)]));
      const body = await readBody(response, ANSWER_BYTES);
      const text = withoutToken(body?.toString('utf8') ?? '');
      const failure = statusFailure(place, { status, headers, text }, subject.what);
      if (failure) return this.#failed(failure);
      if (body === null) return this.#failed(failureOf(place, 'too_large', subject.what));
      return ok({ status, headers, text });
    } catch (error) {
      this.#throwIfGivenUp();
      if (!limit.isOver) {
        const failure = response ? brokenOff(url.host, error) : connectionFailure(place, url.host, error);
        return this.#failed(failure);
      }
      const message = `${url.host} did not answer within ${this.#seconds} s: try again later.`;
      return this.#failed({ kind: 'unavailable', message });
    }
  }

  /**
   * The same for a library that writes its requests itself, one for each call: it is given how to send it, and gets its
   * reply. A failure ends the call.
   * @param call what the library makes of the reply; null when there is no address for what is asked
   */
  async carry<T>(
    subject: Subject,
    call: (send: (outgoing: Outgoing) => Promise<Reply>) => Promise<T> | null,
  ): Promise<Answer<T>> {
    const answers: Answer<Reply>[] = [];
    const send = async (outgoing: Outgoing): Promise<Reply> => {
      const answer = await this.send(outgoing, subject);
      answers.push(answer);
      if (answer.kind === 'ok') return answer.value;
      throw new Error(answer.message);
    };
    try {
      const value = await call(send);
      return value === null ? this.nowhere(subject) : ok(value);
    } catch (error) {
      this.#throwIfGivenUp();
      const [answer] = answers;
      if (answer) return answer.kind === 'ok' ? this.#unlike(subject) : answer;
      // Text that is no Unicode stands in no address.
      if (error instanceof URIError) return this.nowhere(subject);
      throw error;
    }
  }

  nowhere({ what }: Subject): ProviderFailure {
    return failureOf(this.place, 'not_found', what);
  }

  /** What a provider said, if it has the shape that is documented. */
  read<T>(said: unknown, shape: z.ZodType<T>, subject: Subject): Answer<T> {
    const parsed = shape.safeParse(said);
    if (parsed.success) return ok(parsed.data);
    const path = parsed.error.issues[0]?.path ?? [];
    return this.#unlike(subject, path.map(String).join('.').slice(0, 100));
  }

  #unlike({ what }: Subject, where = ''): ProviderFailure {
    const place = where === '' ? '' : ` (at ${where})`;
    const message = `${this.place.name} gave an answer of a shape that it does not document${place} when it was asked for ${what}.`;
    return this.#failed({ kind: 'unexpected', message });
  }

  /** Of these kinds, nobody knows what became of what was sent: whoever writes has to look. */
  #failed(failure: ProviderFailure): ProviderFailure {
    const isAnswered = !['unavailable', 'unexpected', 'too_large'].includes(failure.kind);
    return isAnswered || !this.#wrote ? failure : { ...failure, mayBeDone: true };
  }

  #throwIfGivenUp(): void {
    if (this.#caller.aborted && this.#wrote) throw new GivenUpMidway(this.#caller.reason);
    this.#caller.throwIfAborted();
  }

  #init({ method, body }: Outgoing): Omit<PlainRequest, 'signal'> {
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
      ...(body !== undefined && { body }),
      redirect: 'manual',
    };
  }
}

/** A host may answer with what it was sent, alone or in what it says. */
function hiding({ authorization, token }: ApiPlace): (text: string) => string {
  const sent = token?.unwrap();
  // What comes after the scheme, and after a user name.
  const forms = new Set([authorization?.unwrap().split(' ')[1], sent, sent?.split(':')[1]]);
  return (text) => {
    let shown = text;
    for (const form of forms) {
      if (form && form.length >= HIDDEN_FROM) shown = shown.replaceAll(form, HIDDEN);
    }
    return shown;
  };
}

/** A part of a path that is empty or a step, also encoded: on its way it may be decoded. */
const STEP = /(?:^|\/|%2f)(?:(?:\.|%2e){1,2}(?:\/|%2f|$)|\/|%2f)/i;

/** Null when it lies elsewhere than below the root. */
function addressBelow(root: string, address: string): URL | null {
  const url = URL.parse(address);
  const [place = ''] = address.split('?', 1);
  if (!url || !place.startsWith(`${root}/`) || url.origin + url.pathname !== place) return null;
  return STEP.test(place.slice(root.length + 1)) ? null : url;
}
