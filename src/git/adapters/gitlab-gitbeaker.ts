import type * as gitbeaker from '@gitbeaker/core';
import type { BaseResourceOptions, RequestOptions, ResponseBodyTypes } from '@gitbeaker/requester-utils';
import type { z } from 'zod';
import type { Answer } from '../answer.ts';
import type { Exchange, Outgoing, Subject } from '../exchange.ts';
import { jsonIn, type Reply } from '../reply.ts';

/** What Gitbeaker is to ask, by a resource that is made `at` GitLab; null when there can be no such thing. */
type Call = (resources: typeof gitbeaker, at: BaseResourceOptions<false>) => Promise<unknown> | null;

export interface Question<T> extends Subject {
  shape: z.ZodType<T>;
}

/**
 * Asks GitLab by Gitbeaker, which knows the routes. The exchange carries what it writes, so it never has the token, and
 * repeats nothing.
 */
export async function ask<T>(exchange: Exchange, call: Call, question: Question<T>): Promise<Answer<T>> {
  // Loaded with the first question.
  const [resources, { createRequesterFn }] = await Promise.all([
    import('@gitbeaker/core'),
    import('@gitbeaker/requester-utils'),
  ]);
  const told = await exchange.carry(question, (send) => {
    const requesterFn = createRequesterFn(
      (_resource, options) => Promise.resolve(options),
      async (endpoint, options) => responseOf(await send(outgoing(endpoint, options))),
    );
    const host = exchange.place.root.replace(/\/api$/, '');
    // No limits of its own, which would count for one question, and no second deadline.
    return call(resources, { host, requesterFn, rateLimits: {}, queryTimeout: null });
  });
  return told.kind === 'ok' ? exchange.read(told.value, question.shape, question) : told;
}

/** Asks about a project. It is `group/name`, with more groups between: a name alone would be the number of one. */
export function within(project: string, call: Call): Call {
  return (resources, at) => (project.includes('/') ? call(resources, at) : null);
}

/** What it writes; the credential is not its own. */
function outgoing(endpoint: string, options: RequestOptions = {}): Outgoing {
  const { method = 'GET', prefixUrl = '', searchParams, body } = options;
  const query = searchParams ? `?${searchParams}` : '';
  // Some resources have a slash at the end of theirs.
  const url = `${prefixUrl.replace(/\/$/, '')}/${endpoint}${query}`;
  return { method, url, body: typeof body === 'string' ? body : undefined };
}

/** Of the head, the counts alone: by a header Link it would go on asking. */
function responseOf({ status, headers, text }: Reply) {
  const counts = Array.from(headers).filter(([name]) => name.startsWith('x-'));
  // What it really is, is seen when it is read.
  return { status, headers: Object.fromEntries(counts), body: jsonIn(text) as ResponseBodyTypes };
}
