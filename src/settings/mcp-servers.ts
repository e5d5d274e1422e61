import type { McpServer } from '../mcp/server.ts';
import type { Secret } from '../secrets/secret.ts';
import { programDestination } from './destinations.ts';
import { type McpDocument, SECRET_PATHS } from './document.ts';
import type { BoundSecret } from './store.ts';

/** The user's MCP servers with their secrets. One goes along only to the address, or the program, it is bound to. */
export function mcpServersOf(
  mcp: McpDocument | null,
  bound: Readonly<Record<string, BoundSecret>>,
  open: ReadonlyMap<string, Secret>,
): McpServer[] {
  if (!mcp) return [];
  const secretAt = (path: string, destination: string): Secret | null =>
    bound[path]?.destination === destination ? (open.get(path) ?? null) : null;
  const remote = (kind: 'sse' | 'shttp') =>
    mcp[`${kind}_servers`].map(({ url, timeout }) => ({
      kind,
      url,
      apiKey: secretAt(SECRET_PATHS.httpServer(`${kind}_servers`, url), url),
      callMs: timeout === undefined ? null : timeout * 1_000,
    }));
  const programs = mcp.stdio_servers.map(({ name, command, args, env }) => ({
    kind: 'stdio' as const,
    name,
    command,
    args,
    env: Object.fromEntries(
      env.flatMap((variable) => {
        const path = SECRET_PATHS.stdioServer(name, variable);
        const secret = secretAt(path, programDestination({ command, args }));
        return secret ? [[variable, secret]] : [];
      }),
    ),
  }));
  return [...remote('sse'), ...programs, ...remote('shttp')];
}
