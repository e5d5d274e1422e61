import { z } from 'zod';

import { observation } from '../../events/build.ts';
import type { ActionEvent } from '../../events/event.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { cutMiddle } from './text.ts';
import { defineTool, riskOf, securityRisk } from './tool.ts';

const MOST_RESULTS = 20;

const input = z.object({
  query: z
    .string()
    .trim()
    .min(1)
    .max(400)
    .describe('What to look for, as one would type it into a search engine.'),
  max_results: z
    .int()
    .min(1)
    .max(MOST_RESULTS)
    .default(5)
    .describe(`At most this many results, 1 to ${MOST_RESULTS}; 5 when not given.`),
  domains: z
    .array(z.string().min(1).max(253))
    .max(50)
    .default([])
    .describe('Only pages of these domains, such as docs.python.org; of all when not given.'),
  security_risk: securityRisk,
});

export const WEB_SEARCH = 'web_search';

/** Recorded as V0 records its search, which there is a tool of an MCP server. */
export const webSearch = defineTool({
  name: WEB_SEARCH,
  description:
    'Searches the web and returns, for each page that fits, its title, address and the part that answers the query. For what the repository and its documentation do not say: current versions, error messages, the interfaces of others. The query leaves the sandbox: put nothing into it that is not meant for others.',
  input,
  action: ({ security_risk, ...args }, thought) => ({
    source: 'agent',
    message: `Searching the web: ${args.query}`,
    action: 'call_tool_mcp',
    args: {
      name: WEB_SEARCH,
      arguments: args,
      thought,
      confirmation_state: 'confirmed',
      security_risk: riskOf(security_risk),
    },
  }),
});

export async function searchWeb(
  action: ActionEvent<'call_tool_mcp'>,
  { search, signal }: Pick<Bench, 'search' | 'signal'>,
): Promise<Result> {
  const parsed = input.safeParse(action.args.arguments);
  if (!parsed.success) return wrong(`The web was not searched: ${z.prettifyError(parsed.error)}`);
  if (!search) return wrong('The web was not searched: no search_api_key is stored any more.');
  const { query, max_results: maxResults, domains } = parsed.data;
  const outcome = await search({ query, maxResults, domains }, signal);
  if (!outcome.ok) return wrong(outcome.problem);
  const shown = outcome.results
    .map(({ title, url, content }, n) => `${n + 1}. ${title}\n${indented(`${url}\n${content}`)}`)
    .join('\n\n');
  const { name, arguments: args } = action.args;
  return observation('agent', 'mcp', cutMiddle(shown === '' ? 'Nothing was found.' : shown), {
    name,
    arguments: args,
  });
}

/** What a page says cannot look like one more result: those alone begin at the margin. */
function indented(text: string): string {
  return text.replaceAll(/^/gm, '   ');
}
