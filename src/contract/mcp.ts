import { z } from 'zod';
import { httpUrl, line, secretLine, secretText, text, variableName } from './text.ts';

const server = z.object({
  url: httpUrl(),
  api_key: secretLine().nullish(),
  timeout: z.int().min(1).max(3600).nullish().describe('Seconds one call may take.'),
});

/**
 * A server reached over HTTP: `{url, api_key}`, or the bare URL. Of a union the usual form comes first, here and
 * below: a form that does not fit costs more than one that does.
 */
const httpServer = z.union([server, httpUrl().transform((url): z.output<typeof server> => ({ url }))]);

/** A server that is a program in the sandbox. */
const stdioServer = z.object({
  name: line(255).regex(/^[A-Za-z0-9_-]+$/, 'must consist of letters, digits, "_" and "-"'),
  command: line(1_000).min(1, 'must not be empty'),
  args: z.array(text(10_000)).max(200).nullish(),
  env: z.record(variableName(), secretText().nullable()).nullish(),
});

function unique<T>(of: (server: T) => string, what: string) {
  return (servers: T[], context: z.RefinementCtx<T[]>): void => {
    const seen = new Set<string>();
    for (const [index, entry] of servers.entries()) {
      if (seen.has(of(entry))) {
        context.addIssue({
          code: 'custom',
          path: [index, what],
          message: 'stands twice',
          params: { type: 'duplicate' },
        });
      }
      seen.add(of(entry));
    }
  };
}

const httpServers = z
  .array(httpServer)
  .max(100)
  .superRefine(unique((s) => s.url, 'url'));

/** MCP servers. A list that is given replaces the stored one; one that is omitted or null stays. */
export const mcpConfig = z.object({
  sse_servers: httpServers.nullish(),
  stdio_servers: z
    .array(stdioServer)
    .max(100)
    .superRefine(unique((s) => s.name, 'name'))
    .nullish(),
  shttp_servers: httpServers.nullish(),
});
export type McpConfig = z.output<typeof mcpConfig>;

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
