import type { EndpointInterface, Endpoints } from '@octokit/types';
import type { z } from 'zod';
import { type Answer, mapAnswer } from '../answer.ts';
import type { Exchange, Outgoing, Subject } from '../exchange.ts';
import { hasNext } from '../link-header.ts';
import { jsonIn } from '../reply.ts';

type Route = keyof Endpoints;
/** Of a route; null when what is asked for can't be there. */
type Parameters<R extends Route> = Endpoints[R]['parameters'] | null;

export interface Question<T> extends Subject {
  shape: z.ZodType<T>;
}

/** Loaded with the first question, and kept: to import it again costs more than to write a request by it. */
const load = async (): Promise<EndpointInterface> => (await import('@octokit/endpoint')).endpoint;
let octokit: Promise<EndpointInterface> | undefined;

/**
 * Asks GitHub by Octokit, which knows the routes of GitHub's API and what each takes. It writes the requests, and the
 * exchange carries them: Octokit never has the token.
 */
export class Github {
  readonly exchange: Exchange;
  readonly #baseUrl: string;

  /** @param baseUrl of the REST API, at or below the root of the exchange */
  constructor(exchange: Exchange, baseUrl: string) {
    this.exchange = exchange;
    this.#baseUrl = baseUrl;
  }

  async ask<R extends Route, T>(
    route: R,
    parameters: Parameters<R>,
    question: Question<T>,
  ): Promise<Answer<T>> {
    return mapAnswer(await this.tell(route, parameters, question), ({ value }) => value);
  }

  /** {@link ask}, and whether there is a page after this one. */
  async tell<R extends Route, T>(
    route: R,
    parameters: Parameters<R>,
    question: Question<T>,
  ): Promise<Answer<{ value: T; more: boolean }>> {
    return await this.#tell(route, parameters && { ...parameters, baseUrl: this.#baseUrl }, question);
  }

  /** Asks the GraphQL API, which an Enterprise Server has beside the REST API. */
  async graph<T>(
    asking: { query: string; variables: Readonly<Record<string, unknown>> },
    question: Question<T>,
  ): Promise<Answer<T>> {
    const parameters = { ...asking, baseUrl: this.exchange.place.root };
    const told = await this.#tell('POST /graphql', parameters, { ...question, isSearch: true });
    return mapAnswer(told, ({ value }) => value);
  }

  async #tell<T>(
    route: string,
    parameters: Record<string, unknown> | null,
    question: Question<T>,
  ): Promise<Answer<{ value: T; more: boolean }>> {
    if (parameters === null) return this.exchange.nowhere(question);
    const outgoing = outgoingBy(await (octokit ??= load()), route, parameters);
    if (outgoing === null) return this.exchange.nowhere(question);
    const sent = await this.exchange.send(outgoing, question);
    if (sent.kind !== 'ok') return sent;
    const { headers, text } = sent.value;
    const read = this.exchange.read(jsonIn(text), question.shape, question);
    return mapAnswer(read, (value) => ({ value, more: hasNext(headers.get('link')) }));
  }
}

/** Where a repository is, with other parameters. GitHub's are `owner/name`; anything else is not there. */
export function within<P>(repository: string, others: P): (P & { owner: string; repo: string }) | null {
  const [owner, repo, ...more] = repository.split('/');
  return owner && repo && more.length === 0 ? { ...others, owner, repo } : null;
}

/** Null when what is asked for can't be there: text that is no Unicode stands in no address. */
function outgoingBy(
  endpoint: EndpointInterface,
  route: string,
  parameters: Record<string, unknown>,
): Outgoing | null {
  try {
    const { method, url, body } = endpoint(route, parameters);
    return { method, url, body: body === undefined ? body : JSON.stringify(body) };
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
