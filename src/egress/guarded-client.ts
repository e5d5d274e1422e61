import { callbackify } from 'node:util';
import type { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import { connectSecurely, connectTo } from './connect.ts';
import { findDestination, type Egress } from './destination.ts';
import { EgressRefused, type EgressPolicy } from './policy.ts';
import { cachedResolve, type Resolve } from './resolver.ts';

export interface GuardedOptions {
  resolve?: Resolve;
  /** Until the head of an answer; a model that does not stream thinks first. Default 10 minutes. */
  headersTimeoutMs?: number;
  /** Between two pieces of a body. Default 5 minutes. */
  bodyTimeoutMs?: number;
}

/** The HTTP client, for addresses that users give. */
export interface GuardedClient {
  /**
   * Resolves when the policy allows the address; only what it allows is connected to.
   * @throws EgressRefused, whose message says which host and what to set
   * @throws HostNotFound
   */
  open: (url: URL) => Promise<OpenClient>;
  /** Lets go of kept connections. */
  close: () => Promise<void>;
}

interface OpenClient {
  /** Holds the connections: for its own requests, and for `fetch` as what dispatches them. */
  agent: Agent;
  fetch: typeof undiciFetch;
}

/** A client whose connections are its own. It is loaded with the first call. */
export function guardedClient(policy: EgressPolicy, options: GuardedOptions = {}): GuardedClient {
  const egress: Egress = { policy, resolve: options.resolve ?? cachedResolve() };
  let client: Promise<OpenClient> | undefined;
  const load = async (): Promise<OpenClient> => {
    const { Agent, fetch } = await import('./http-client.ts');
    const agent = new Agent({
      connect: checkedConnector(egress),
      headersTimeout: options.headersTimeoutMs ?? 600_000,
      bodyTimeout: options.bodyTimeoutMs ?? 300_000,
    });
    return { agent, fetch };
  };

  return {
    open: async (url) => {
      await check(egress, url);
      return await (client ??= load());
    },
    close: async () => await (await client)?.agent.destroy(),
  };
}

async function check(egress: Egress, url: URL): Promise<void> {
  const port = portOf(url.protocol, url.port);
  const refuse = (reason: string) => new EgressRefused(url.hostname, port, reason);
  if (!/^https?:$/.test(url.protocol)) throw refuse('only http and https addresses are called');
  if (url.username !== '' || url.password !== '') {
    throw refuse(`the address of ${url.host} must have no user name or password in it`);
  }
  await findDestination(egress, url.hostname, port);
}

/** Looks up and checks once more where the connection is made: an answer kept since the first check may have run out. */
function checkedConnector(egress: Egress): buildConnector.connector {
  const connectFor = async ({ protocol, hostname, port }: buildConnector.Options) => {
    const destination = await findDestination(egress, hostname, portOf(protocol, port));
    return protocol === 'https:' ? connectSecurely(destination) : connectTo(destination);
  };
  const connectBy = callbackify(connectFor);
  return (options, done) => {
    connectBy(options, (error, socket) => (error ? done(error, null) : done(null, socket)));
  };
}

function portOf(protocol: string, port: string): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
