import { z } from 'zod';
import { type Answer, ok, type ProviderFailure } from '../answer.ts';
import { failureOf } from '../api-failure.ts';
import type { Api } from '../api.ts';

const KINDS: Readonly<Record<string, ProviderFailure['kind']>> = {
  NOT_FOUND: 'not_found',
  FORBIDDEN: 'without_scope',
  INSUFFICIENT_SCOPES: 'without_scope',
  RATE_LIMITED: 'rate_limited',
};

/** Asks GitHub's GraphQL API, which also says with status 200 that it failed. It needs a token. */
export async function askGraph<T>(
  api: Api,
  question: {
    query: string;
    variables: Readonly<Record<string, unknown>>;
    shape: z.ZodType<T>;
    what: string;
  },
): Promise<Answer<T>> {
  const { query, variables, shape, what } = question;
  const errors = z.array(z.object({ type: z.string().optional() })).min(1);
  const asked = await api.ask('/graphql', {
    method: 'POST',
    isSearch: true,
    body: { query, variables },
    shape: z.union([
      z.object({ data: shape, errors: errors.optional() }),
      z.object({ data: z.null().optional(), errors }),
    ]),
    what,
  });
  if (asked.kind !== 'ok') return asked;
  const { data, errors: failures } = asked.value;
  const type = failures?.[0]?.type ?? '';
  // Beside an error of one part, the rest is there.
  if (data !== null && data !== undefined && type !== 'NOT_FOUND') return ok(data);
  return failureOf(api.place, KINDS[type] ?? 'unexpected', what);
}
