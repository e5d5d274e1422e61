import { z } from 'zod';

import { type JsonSchema, schemaProblem } from './json-schema.ts';

/** A tool of a server as the agent may use it. */
export interface McpTool {
  /** As its server calls it. */
  name: string;
  description: string;
  /** Of its input: always of an object. */
  schema: JsonSchema;
}

/** A tool that the agent does not get, and why: a sentence for the user. */
export interface LeftOut {
  name: string;
  reason: string;
}

const MAX_NAME = 256;
const MAX_DESCRIPTION = 4_000;
/** The member by which a model rates its own call: a server that has one of its own would rate itself. */
const RATED_BY = 'security_risk';

const described = z.looseObject({
  name: z.string().min(1).max(MAX_NAME),
  description: z.string().nullish(),
  inputSchema: z.unknown(),
});

/** What of a server's list can be used. All of it is the server's word: checked and bounded. */
export function readTools(listed: readonly unknown[]): { tools: McpTool[]; leftOut: LeftOut[] } {
  const tools = new Map<string, McpTool>();
  const leftOut: LeftOut[] = [];
  for (const entry of listed) {
    const parsed = described.safeParse(entry);
    if (!parsed.success) {
      leftOut.push({ name: nameOf(entry), reason: 'It has no proper name or description.' });
      continue;
    }
    const { name, description, inputSchema: schema } = parsed.data;
    const problem = tools.has(name) ? 'The server lists it twice.' : inputProblem(schema);
    if (problem !== null) leftOut.push({ name, reason: problem });
    else tools.set(name, { name, description: cut(description ?? ''), schema: schema as JsonSchema });
  }
  return { tools: [...tools.values()], leftOut };
}

function inputProblem(schema: unknown): string | null {
  const problem = schemaProblem(schema);
  if (problem !== null) return problem;
  const { properties } = schema as { properties?: object };
  return properties && Object.hasOwn(properties, RATED_BY)
    ? `Its input has a member ${RATED_BY}, by which the model rates calls.`
    : null;
}

function nameOf(entry: unknown): string {
  const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : '';
  return typeof name === 'string' ? name.slice(0, MAX_NAME) : '';
}

function cut(text: string): string {
  const well = text.toWellFormed();
  if (well.length <= MAX_DESCRIPTION) return well;
  return `${well.slice(0, MAX_DESCRIPTION)} [… cut: the description has ${well.length} characters …]`;
}
