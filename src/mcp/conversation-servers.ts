import { isDeepStrictEqual } from 'node:util';

import { redactJson } from '../events/redact.ts';
import { LONGEST_TOOL_NAME, plainToolName } from '../model/tool-name.ts';
import type { Ways } from './client.ts';
import { type CallOutcome, McpConnection, type McpTimeouts } from './connection.ts';
import { type NamedServer, unlike } from './server.ts';
import type { LeftOut, McpTool } from './tool-list.ts';

/** A tool under the name by which the model knows it. */
export interface OfferedTool extends McpTool {
  /** As `plainToolName` makes it. */
  offered: string;
  /** The name of its server. */
  server: string;
}

/** What a run begins with. */
export interface ServersOfRun {
  servers: readonly NamedServer[];
  ways: Ways;
  /** Names that tools of servers may not have. */
  reserved: ReadonlySet<string>;
  /** Hides the secrets of the conversation: a server may echo its own in what it says of its tools. */
  redact: (text: string) => string;
}

/** Tools of all servers of one conversation, and the characters of their descriptions and schemas. */
const MAX_TOOLS = 200;
const MAX_CHARACTERS = 200_000;
/** How many servers of one conversation are connected at a time: each may take some megabytes to list its tools. */
const AT_ONCE = 16;

/** The servers of one conversation, kept from one run to the next. */
export class ConversationServers {
  readonly #timeouts: McpTimeouts;
  readonly #changed: (connection: McpConnection) => void;
  /** By name, in the order of the configuration. */
  #connections = new Map<string, McpConnection>();
  #ways: Ways | null = null;
  #offered: readonly OfferedTool[] = [];
  #leftOut: readonly (LeftOut & { server: string })[] = [];

  /** @param changed told whenever the status of a server is another */
  constructor(timeouts: McpTimeouts, changed: (connection: McpConnection) => void) {
    this.#timeouts = timeouts;
    this.#changed = changed;
  }

  /**
   * A run begins with these servers: those that are new or failed are connected, those that are no more are left.
   * Resolves when each is ready or has failed.
   * @throws the signal's reason
   */
  async begin(run: ServersOfRun, signal: AbortSignal): Promise<void> {
    const { servers, ways } = run;
    const former = this.#connections;
    this.#ways = ways;
    this.#connections = new Map(
      servers.map((named) => {
        const known = this.connectionOf(named);
        return [named.name, known ?? new McpConnection(named, this.#timeouts, this.#changed)];
      }),
    );
    const kept = new Set(this.#connections.values());
    await Promise.all([...former.values()].filter((one) => !kept.has(one)).map((one) => one.close()));
    const waiting = [...kept];
    const connect = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await next.begin(ways, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, connect));
    this.#offer(run);
  }

  get connections(): readonly McpConnection[] {
    return [...this.#connections.values()];
  }

  /** The connection to that server; undefined when it is configured otherwise than it was. */
  connectionOf(named: NamedServer): McpConnection | undefined {
    const connection = this.#connections.get(named.name);
    return connection && isDeepStrictEqual(comparable(connection.named), comparable(named))
      ? connection
      : undefined;
  }

  /** What the model is offered in this run. */
  get tools(): readonly OfferedTool[] {
    return this.#offered;
  }

  /** The tools of a server that the model is not offered. */
  leftOutOf(connection: McpConnection): readonly LeftOut[] {
    const { name } = connection.named;
    return [...connection.leftOut, ...this.#leftOut.filter(({ server }) => server === name)];
  }

  /**
   * Calls the tool that is offered under that name, or was: an action may have waited while servers came and went.
   * @param server the one that the name was of; null when that is not known
   */
  async call(
    name: string,
    server: string | null,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const found =
      this.#offered.find((tool) => tool.offered === name && (server === null || tool.server === server)) ??
      this.#once(name, server);
    const connection = found && this.#connections.get(found.server);
    if (!connection || !this.#ways) {
      return { kind: 'failed', reason: `There is no tool ${name} any more.`, effect: 'none' };
    }
    return await connection.call(found.name, input, this.#ways, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }

  /** What a name stood for that another server, which is there now or is no longer, has made another. */
  #once(name: string, server: string | null): { name: string; server: string } | undefined {
    if (server === null) return undefined;
    const tool = this.#offered.find(
      (one) => one.server === server && [plainToolName(one.name), prefixed(server, one.name)].includes(name),
    );
    return tool && { name: tool.name, server };
  }

  #offer({ reserved, redact }: ServersOfRun): void {
    const all = [...this.#connections.values()].flatMap((connection) =>
      connection.status === 'ready'
        ? connection.tools.map((tool) => ({
            ...tool,
            server: connection.named.name,
            shown: redact(tool.name),
          }))
        : [],
    );
    const counts = new Map<string, number>();
    for (const { shown } of all)
      counts.set(plainToolName(shown), (counts.get(plainToolName(shown)) ?? 0) + 1);
    const taken = new Set(reserved);
    const offered: OfferedTool[] = [];
    const leftOut: (LeftOut & { server: string })[] = [];
    let characters = 0;
    for (const { shown, ...tool } of all) {
      const plain = plainToolName(shown);
      const clashes = reserved.has(plain) || (counts.get(plain) ?? 0) > 1;
      const name = free(taken, clashes ? prefixed(tool.server, shown) : plain);
      characters += tool.description.length + JSON.stringify(tool.schema).length;
      if (offered.length === MAX_TOOLS || characters > MAX_CHARACTERS) {
        const { server } = tool;
        leftOut.push({ server, name: tool.name, reason: TOO_MANY });
        continue;
      }
      taken.add(name);
      const description = redact(tool.description);
      offered.push({ ...tool, description, schema: redactJson(tool.schema, redact), offered: name });
    }
    this.#offered = offered;
    this.#leftOut = leftOut;
  }
}

const TOO_MANY = `The agent gets at most ${MAX_TOOLS} tools of servers, with ${MAX_CHARACTERS} characters of descriptions and schemas.`;

function prefixed(server: string, name: string): string {
  return plainToolName(`${server}_${name}`);
}

/** Names that were made shorter or plainer may be the same. */
function free(taken: ReadonlySet<string>, name: string): string {
  return unlike(taken, name).length <= LONGEST_TOOL_NAME
    ? unlike(taken, name)
    : unlike(taken, name.slice(0, LONGEST_TOOL_NAME - 5));
}

/** Secrets compare by their value, not as objects. */
function comparable({ server, ...named }: NamedServer): unknown {
  if (server.kind !== 'stdio') return { ...named, ...server, apiKey: server.apiKey?.unwrap() ?? null };
  const env = Object.entries(server.env).map(([name, secret]) => [name, secret.unwrap()]);
  return { ...named, ...server, env: Object.fromEntries(env) };
}
