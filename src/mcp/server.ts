import type { Secret } from '../secrets/secret.ts';

/** A server that is a program in the sandbox. */
export interface ProgramServer {
  kind: 'stdio';
  name: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, Secret>>;
}

/** A server that the service reaches over HTTP: by the protocol of 2024 with its stream of events, or by streamable HTTP. */
export interface RemoteServer {
  kind: 'sse' | 'shttp';
  url: string;
  /** Sent as a bearer token to the address of the server, and nowhere else. */
  apiKey: Secret | null;
  /** Milliseconds one call may take; null for what the service allows. */
  callMs: number | null;
}

export type McpServer = ProgramServer | RemoteServer;

/** A server of a conversation, under the name by which events and statuses speak of it. */
export interface NamedServer {
  name: string;
  /** Whose it is: in the user's settings, or brought along by the conversation. */
  scope: 'user' | 'conversation';
  server: McpServer;
}

/**
 * All servers of a conversation under names that differ. One of the conversation's own takes the place of one of the
 * user's that has the same address, or the same name. A remote one is called by its host: its whole address may hold a
 * key, and names stand in events.
 */
export function namedServers(users: readonly McpServer[], own: readonly McpServer[]): NamedServer[] {
  const replaced = new Set(own.map(identity));
  const all = [
    ...users.filter((server) => !replaced.has(identity(server))).map((server) => ['user', server] as const),
    ...own.map((server) => ['conversation', server] as const),
  ];
  // Programs have names of their own, which remote servers make way for.
  const taken = new Set(all.flatMap(([, server]) => (server.kind === 'stdio' ? [server.name] : [])));
  return all.map(([scope, server]) => {
    if (server.kind === 'stdio') return { name: server.name, scope, server };
    const name = unlike(taken, new URL(server.url).host);
    taken.add(name);
    return { name, scope, server };
  });
}

/** The secrets of servers: what no event, log or answer may show. */
export function secretsOf(servers: readonly McpServer[]): Secret[] {
  return servers.flatMap((server) =>
    server.kind === 'stdio' ? Object.values(server.env) : server.apiKey ? [server.apiKey] : [],
  );
}

/** The name, or the name with the first number that makes it differ from all others. */
export function unlike(taken: ReadonlySet<string>, name: string): string {
  for (let n = 1; ; n += 1) {
    const tried = n === 1 ? name : `${name}_${n}`;
    if (!taken.has(tried)) return tried;
  }
}

function identity(server: McpServer): string {
  return server.kind === 'stdio' ? `stdio ${server.name}` : `${server.kind} ${server.url}`;
}
