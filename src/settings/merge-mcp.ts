import type { McpConfig } from '../contract/mcp.ts';
import { programDestination } from './destinations.ts';
import { type HttpServerEntry, type McpDocument, SECRET_PATHS, type StdioServerEntry } from './document.ts';
import type { SecretDraft } from './secret-draft.ts';

type HttpServers = NonNullable<McpConfig['sse_servers']>;
type StdioServers = NonNullable<McpConfig['stdio_servers']>;

/** A list that is given replaces the stored one; its servers keep the secrets they had under the same url or name. */
export function mergeMcp(stored: McpDocument | null, given: McpConfig, draft: SecretDraft): McpDocument {
  const { sse_servers, stdio_servers, shttp_servers } = given;
  return {
    sse_servers: sse_servers ? mergeHttp('sse_servers', sse_servers, draft) : (stored?.sse_servers ?? []),
    stdio_servers: stdio_servers
      ? mergeStdio(stored?.stdio_servers ?? [], stdio_servers, draft)
      : (stored?.stdio_servers ?? []),
    shttp_servers: shttp_servers
      ? mergeHttp('shttp_servers', shttp_servers, draft)
      : (stored?.shttp_servers ?? []),
  };
}

/** Forgets all servers. */
export function clearMcp(draft: SecretDraft): null {
  draft.removeAll('mcp_config.');
  return null;
}

function mergeHttp(
  list: 'sse_servers' | 'shttp_servers',
  given: HttpServers,
  draft: SecretDraft,
): HttpServerEntry[] {
  const named = new Set<string>();
  const servers = given.map(({ url, api_key, timeout }, index) => {
    const path = SECRET_PATHS.httpServer(list, url);
    named.add(path);
    draft.merge(path, api_key, url, ['body', 'mcp_config', list, index, 'api_key']);
    return timeout ? { url, timeout } : { url };
  });
  draft.removeAll(SECRET_PATHS.httpServer(list, ''), named);
  return servers;
}

function mergeStdio(
  stored: readonly StdioServerEntry[],
  given: StdioServers,
  draft: SecretDraft,
): StdioServerEntry[] {
  const named = new Set<string>();
  const servers = given.map(({ name, command, args, env }, index) => {
    const former = stored.find((server) => server.name === name);
    const program = { command, args: args ?? [] };
    const destination = programDestination(program);
    const variables = new Set([...(former?.env ?? []), ...Object.keys(env ?? {})]);
    const kept = [...variables].filter((variable) => {
      const path = SECRET_PATHS.stdioServer(name, variable);
      named.add(path);
      const value = env && Object.hasOwn(env, variable) ? env[variable] : null;
      return draft.merge(path, value, destination, [
        'body',
        'mcp_config',
        'stdio_servers',
        index,
        'env',
        variable,
      ]);
    });
    return { name, ...program, env: kept };
  });
  draft.removeAll('mcp_config.stdio_servers.', named);
  return servers;
}
