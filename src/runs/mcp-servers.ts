import type { McpConnection, McpTimeouts } from '../mcp/connection.ts';
import { ConversationServers, type ServersOfRun } from '../mcp/conversation-servers.ts';
import type { StatusUpdate } from '../live/status.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

export interface McpServersOptions {
  /** A guarded fetch that waits as long as calls may take, and keeps streams that are silent. */
  fetch: typeof globalThis.fetch;
  timeouts: McpTimeouts;
  notify: (conversation: number, status: StatusUpdate) => void;
}

/** What a run needs its servers for. */
export interface McpRun extends Omit<ServersOfRun, 'ways'> {
  sandbox: () => Promise<Sandbox>;
  signal: AbortSignal;
}

interface Held {
  servers: ConversationServers;
  redact: (text: string) => string;
  /** What was last told of each server that failed, by its name. */
  told: Map<string, string>;
}

/**
 * The MCP servers of the conversations that this process drives. They stay connected from one run to the next, as the
 * sandbox does that some of them live in, and are left when the conversation stops.
 */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #held = new Map<number, Held>();

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  /**
   * A run begins. `failures`: a sentence for each server that failed, unless the same was said before.
   * @throws the signal's reason
   */
  async begin(
    key: number,
    run: McpRun,
  ): Promise<{ servers: ConversationServers; failures: string[] } | null> {
    if (run.servers.length === 0) {
      await this.close(key);
      return null;
    }
    const held = this.#held.get(key) ?? this.#hold(key, run.redact);
    held.redact = run.redact;
    const { sandbox, signal, ...rest } = run;
    await held.servers.begin({ ...rest, ways: { sandbox, fetch: this.#options.fetch } }, signal);
    return { servers: held.servers, failures: news(held) };
  }

  /** The servers of a conversation that was driven here and has not stopped since. */
  of(key: number): ConversationServers | null {
    return this.#held.get(key)?.servers ?? null;
  }

  async close(key: number): Promise<void> {
    const held = this.#held.get(key);
    this.#held.delete(key);
    await held?.servers.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((key) => this.close(key)));
  }

  #hold(key: number, redact: Held['redact']): Held {
    const servers = new ConversationServers(this.#options.timeouts, (connection) => {
      const message = held.redact(changeTold(connection));
      const type = connection.status === 'failed' ? 'error' : 'info';
      this.#options.notify(key, { status_update: true, type, id: MCP_STATUS, message });
    });
    const held: Held = { servers, redact, told: new Map() };
    this.#held.set(key, held);
    return held;
  }
}

/** V0 has no such status: its pages show the message. */
const MCP_STATUS = 'STATUS$MCP_SERVER';

function changeTold({ named, status, failure, tools }: McpConnection): string {
  if (status === 'failed') return failureTold(named.name, failure?.reason ?? '');
  const said =
    status === 'ready' ? `is ready, with ${tools.length} tool${tools.length === 1 ? '' : 's'}` : '';
  return `The MCP server ${named.name} ${said || (status === 'idle' ? 'is disconnected' : 'is being connected')}.`;
}

function failureTold(name: string, reason: string): string {
  return `The MCP server ${name} cannot be used: ${reason}`;
}

function news({ servers, told }: Held): string[] {
  const failures: string[] = [];
  for (const { named, failure } of servers.connections) {
    if (!failure) told.delete(named.name);
    else if (told.get(named.name) !== failure.reason) {
      told.set(named.name, failure.reason);
      failures.push(failureTold(named.name, failure.reason));
    }
  }
  return failures;
}
