import { ConversationGone } from '../events/log.ts';
import { secretsOf } from '../mcp/server.ts';
import type { Secret } from '../secrets/secret.ts';
import { ownServers } from './own-servers.ts';
import type { ConversationPorts } from './ports.ts';
import { requestBinding, storedRequest } from './request.ts';
import type { Conversation } from './store.ts';

/** Of so many conversations what was read is remembered: it never changes. */
const REMEMBERED = 1_000;

/** The secrets that conversations brought along with their MCP servers. */
export class OwnSecrets {
  readonly #ports: Pick<ConversationPorts, 'read' | 'vault'>;
  readonly #known = new Map<number, readonly Secret[]>();

  constructor(ports: Pick<ConversationPorts, 'read' | 'vault'>) {
    this.#ports = ports;
  }

  async of({ key, id, userId }: Conversation): Promise<readonly Secret[]> {
    const known = this.#known.get(key);
    if (known) return known;
    const { read, vault } = this.#ports;
    try {
      const sealed = await read.conversations.request(key);
      const text = vault.open(sealed, requestBinding(userId, id));
      // Most have none, and a request may be megabytes.
      const has = text.unwrap().includes('"mcp_config"');
      const secrets = has ? secretsOf(ownServers(storedRequest(text))) : [];
      const [oldest] = this.#known.keys();
      if (this.#known.size >= REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
      this.#known.set(key, secrets);
      return secrets;
    } catch (error) {
      // Whoever asks is about to find that out.
      if (error instanceof ConversationGone) return [];
      throw error;
    }
  }
}
