import { z } from 'zod';
import { httpUrl, line, secretLine, secretText, text, variableName } from './text.ts';

/** A server reached over HTTP. */
const remote = z.object({
  url: httpUrl(),
  api_key: secretLine().nullish(),
  timeout: z.int().min(1).max(3600).nullish().describe('Seconds one call may take.'),
});

/** A server that is a program in the sandbox. */
const program = z.object({
  name: line(255).regex(/^[A-Za-z0-9_-]+$/, 'must consist of letters, digits, "_" and "-"'),
  command: line(1_000).min(1, 'must not be empty'),
  args: z.array(text(10_000)).max(200).nullish(),
  env: z.record(variableName(), secretText().nullable()).nullish(),
});

/** At most 100 servers, no two of the same `member`. */
function servers<T>(one: z.ZodType<T>, member: 'url' | 'name') {
  // A rule with a `when` keeps what stands around it from being compiled: then at least the servers are.
  return z
    .array(z.compile(one))
    .max(100)
    .superRefine(
      (entries, context) => {
        const seen = new Set<unknown>();
        for (const [index, entry] of entries.entries()) {
          const value = typeof entry === 'object' && entry !== null ? Reflect.get(entry, member) : undefined;
          if (typeof value === 'string' && seen.has(value)) {
            context.addIssue({
              code: 'custom',
              path: [index, member],
              message: 'stands twice',
              params: { type: 'duplicate' },
            });
          }
          seen.add(value);
        }
      },
      // Also when an entry is wrong, whatever it then is: every offending member is named at once. One stands alone.
      { when: ({ value }) => Array.isArray(value) && value.length > 1 },
    );
}

/**
 * Reached over HTTP: `{url, api_key}`, or the bare URL. Of a union the usual form comes first, here and below: a form
 * that does not fit costs more than one that does.
 */
const remotes = (one: z.ZodType<z.output<typeof remote>>) =>
  servers(z.union([one, httpUrl().transform((url): z.output<typeof remote> => ({ url }))]), 'url').nullish();
const programs = (one: z.ZodType<z.output<typeof program>>) => servers(one, 'name').nullish();

/** MCP servers. A list that is given replaces the stored one; one that is omitted or null stays. */
export const mcpConfig = z.object({
  sse_servers: remotes(remote),
  stdio_servers: programs(program),
  shttp_servers: remotes(remote),
});
export type McpConfig = z.output<typeof mcpConfig>;

/** The same, for a body whose unknown members are refused. */
export const strictMcpConfig = z.strictObject({
  sse_servers: remotes(remote.strict()),
  stdio_servers: programs(program.strict()),
  shttp_servers: remotes(remote.strict()),
});

/** The same as a client reads it back: every secret is null. */
export const mcpConfigView = z.object({
  sse_servers: z.array(z.object({ url: z.string(), api_key: z.null(), timeout: z.number().optional() })),
  stdio_servers: z.array(
    z.object({
      name: z.string(),
      command: z.string(),
      args: z.array(z.string()),
      env: z.record(z.string(), z.null()),
    }),
  ),
  shttp_servers: z.array(z.object({ url: z.string(), api_key: z.null(), timeout: z.number().optional() })),
});
export type McpConfigView = z.output<typeof mcpConfigView>;

/** How it stands with the MCP servers of a conversation. */
export const mcpStatusView = z.object({
  servers: z.array(
    z.object({
      name: z.string().describe('Its name, for a server reached over HTTP its host.'),
      type: z.enum(['sse', 'stdio', 'shttp']),
      scope: z.enum(['user', 'conversation']).describe("Whether it stands in the user's settings."),
      status: z
        .enum(['idle', 'connecting', 'ready', 'failed'])
        .describe('`idle`: not connected; it is when the agent works next.'),
      reason: z.string().nullable().describe('Why it failed, or is not connected.'),
      detail: z.string().nullable().describe('The last that the server said before it failed.'),
      tools: z.array(z.string()),
      left_out: z
        .array(z.object({ name: z.string(), reason: z.string() }))
        .describe('Tools that the agent does not get, and why.'),
    }),
  ),
});
export type McpStatusView = z.output<typeof mcpStatusView>;
