import { z } from 'zod';
import { EgressRefused } from '../egress/policy.ts';
import { readBody } from '../egress/read-body.ts';
import type { Secret } from '../secrets/secret.ts';
import { TimeLimit } from '../time-limit.ts';
import type { SearchOutcome, SearchResult, WebSearch } from './web-search.ts';

/** Milliseconds a search may take. */
const DEADLINE_MS = 30_000;
const MOST_BYTES = 1024 * 1024;
/** Characters that are kept of what a page says. */
const LONGEST = { title: 300, url: 2_000, content: 4_000 };

const answer = z.object({
  results: z.array(
    z.object({
      title: z.string().nullish(),
      url: z.string(),
      content: z.string().nullish(),
    }),
  ),
});

/** What Tavily says by its status; others are told by their number. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: 'Tavily refused the query. Ask for less at once, in other words.',
  401: 'Tavily refused the key. The user has to store a valid search_api_key in the settings.',
  403: 'Tavily refused the key. The user has to store a valid search_api_key in the settings.',
  429: 'Tavily allows no more searches for now. Go on without, or try again in a minute.',
  432: "The plan of the user's key at Tavily allows no more searches.",
  433: "The plan of the user's key at Tavily allows no more searches.",
};

/**
 * Searches by Tavily's HTTP API (https://docs.tavily.com, `POST /search`) at `baseUrl`. The key goes there and nowhere
 * else: redirects are not followed.
 */
export function tavily(baseUrl: string, key: Secret, fetch: typeof globalThis.fetch): WebSearch {
  return async ({ query, maxResults, domains }, signal) => {
    using limit = new TimeLimit(signal, DEADLINE_MS);
    try {
      const response = await fetch(`${baseUrl}/search`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key.unwrap()}`,
          'content-type': 'application/json',
          accept: 'application/json',
          'user-agent': 'parley',
        },
        body: JSON.stringify({
          query,
          max_results: maxResults,
          ...(domains.length > 0 && { include_domains: domains }),
        }),
        redirect: 'manual',
        signal: limit.signal,
      });
      if (response.status !== 200) {
        await response.body?.cancel();
        return failed(REFUSALS[response.status] ?? `Tavily answered with status ${response.status}.`);
      }
      return await readAnswer(response);
    } catch (error) {
      signal.throwIfAborted();
      if (limit.isOver) return failed(`Tavily did not answer within ${DEADLINE_MS / 1000} s.`);
      // Of other errors only the kind is told: they may repeat the request.
      return failed(error instanceof EgressRefused ? error.message : 'Tavily could not be reached.');
    }
  };
}

async function readAnswer(response: Response): Promise<SearchOutcome> {
  const body = await readBody(response, MOST_BYTES);
  if (body === null) return failed('The answer of Tavily is too large.');
  const parsed = answer.safeParse(json(body));
  if (!parsed.success) return failed('Tavily answered with something else than results.');
  return { ok: true, results: parsed.data.results.flatMap(resultOf) };
}

/** None where the address is no web page's. As it is parsed it has no line breaks, which would be taken for ours. */
function resultOf({ title, url, content }: z.output<typeof answer>['results'][number]): SearchResult[] {
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) return [];
  const line = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
  return [
    {
      title: cut(line(title ?? ''), LONGEST.title),
      url: cut(parsed.href, LONGEST.url),
      content: cut((content ?? '').trim(), LONGEST.content),
    },
  ];
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function failed(problem: string): SearchOutcome {
  return { ok: false, problem };
}
