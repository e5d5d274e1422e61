import { secretsOf } from '../mcp/server.ts';
import type { Secret } from '../secrets/secret.ts';
import { ownServers } from './own-servers.ts';
import type { ConversationPorts } from './ports.ts';
import { requestIfThere, storedRequest } from './request.ts';
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

  async of(row: Conversation): Promise<readonly Secret[]> {
    const known = this.#known.get(row.key);
    if (known) return known;
    const request = await requestIfThere(this.#ports, row);
    // Gone: whoever asks is about to find that out.
    if (request === null) return [];
    // Most have none, and a request may be megabytes.
    const has = request.unwrap().includes('"mcp_config"');
    const secrets = has ? secretsOf(ownServers(storedRequest(request))) : [];
    const [oldest] = this.#known.keys();
    if (this.#known.size >= REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(row.key, secrets);
    return secrets;
  }
}
