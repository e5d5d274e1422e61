import type { McpServer } from '../mcp/server.ts';
import type { ConversationRequest } from './request.ts';

/** The MCP servers that a conversation brought along, with the secrets they came with. */
export function ownServers({ mcp_config: config }: Pick<ConversationRequest, 'mcp_config'>): McpServer[] {
  const remote = (kind: 'sse' | 'shttp') =>
    (config?.[`${kind}_servers`] ?? []).map(({ url, api_key, timeout }) => ({
      kind,
      url,
      apiKey: api_key && api_key.unwrap() !== '' ? api_key : null,
      callMs: timeout ? timeout * 1_000 : null,
    }));
  const programs = (config?.stdio_servers ?? []).map(({ name, command, args, env }) => ({
    kind: 'stdio' as const,
    name,
    command,
    args: args ?? [],
    env: Object.fromEntries(
      Object.entries(env ?? {}).flatMap(([variable, value]) => (value ? [[variable, value]] : [])),
    ),
  }));
  return [...remote('sse'), ...programs, ...remote('shttp')];
}
