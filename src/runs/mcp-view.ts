import type { McpStatusView } from '../contract/mcp.ts';
import { ownServers } from '../conversations/own-servers.ts';
import type { ConversationStores } from '../conversations/ports.ts';
import { requestOf, storedRequest } from '../conversations/request.ts';
import { namedServers, secretsOf } from '../mcp/server.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { McpServers } from './mcp-servers.ts';

export interface McpViewOptions {
  read: ConversationStores;
  vault: Vault;
  snapshot: (userId: string) => Promise<RunSettings>;
  redactor: (settings: RunSettings, own: readonly Secret[]) => Pick<TextRedactor, 'redact'>;
  servers: McpServers;
}

/** The servers of a conversation, those of its user among them, and how it stands with each now. */
export async function mcpStatus(
  { snapshot, redactor, servers, ...stored }: McpViewOptions,
  conversation: { key: number; id: string; userId: string },
): Promise<McpStatusView> {
  const settings = await snapshot(conversation.userId);
  const own = ownServers(storedRequest(await requestOf(stored, conversation)));
  const { redact } = redactor(settings, secretsOf(own));
  const held = servers.of(conversation.key);
  return {
    servers: namedServers(settings.mcpServers, own).map((named) => {
      const { name, scope, server } = named;
      const connection = held?.connectionOf(named);
      const { status = 'idle', failure = null, tools = [] } = connection ?? {};
      const reads = settings.agent === 'CodeActAgent';
      const idle = reads ? null : `${settings.agent} has no tools of MCP servers.`;
      return {
        name: redact(name),
        type: server.kind,
        scope,
        status,
        reason: failure ? redact(failure.reason) : idle,
        detail: failure?.detail ? redact(failure.detail) : null,
        tools: tools.map((tool) => redact(tool.name)),
        left_out: (connection ? (held?.leftOutOf(connection) ?? []) : []).map((tool) => ({
          name: redact(tool.name),
          reason: redact(tool.reason),
        })),
      };
    }),
  };
}
