import type { Client, jsonSchemaValidator, Transport } from '@modelcontextprotocol/client';
import { z } from 'zod';

import { version } from '../observe/version.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { Allowance } from './bounds.ts';
import type { Failure } from './failure.ts';
import { ProgramTransport } from './program-transport.ts';
import { remoteFetch } from './remote-fetch.ts';
import type { McpServer } from './server.ts';

/** What servers are reached by. */
export interface Ways {
  /** The conversation's sandbox, where programs live. @throws ServiceError sandbox_unavailable */
  sandbox(): Promise<Sandbox>;
  /** A guarded fetch. */
  fetch: typeof globalThis.fetch;
}

/** Pages of a list of tools, so that none goes on for ever. */
const MAX_PAGES = 50;
const MAX_LISTED = 1_000;
/** Milliseconds a server has to hear that we go. */
const PATIENCE_MS = 1_000;

const listed = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().max(10_000).optional() });
const called = z.looseObject({
  content: z.array(z.unknown()).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});
export type Called = z.output<typeof called>;

/** Schemas of servers are theirs to hold to. Compiling them would bring code of theirs into this process. */
const UNCHECKED: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** One connection to a server, from its handshake to its end. It is never mended: another takes its place. */
export class McpClient {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #allowance: Allowance;
  #listed = false;
  /** The sandbox that the program lives in; null for a remote server. */
  readonly sandbox: Sandbox | null;

  private constructor(client: Client, transport: Transport, allowance: Allowance, sandbox: Sandbox | null) {
    this.#client = client;
    this.#transport = transport;
    this.#allowance = allowance;
    this.sandbox = sandbox;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      this.#listed = false;
    });
  }

  /** Whether the server has not said since that its tools are others than it listed. */
  get listed(): boolean {
    return this.#listed;
  }

  /**
   * Connects, and gives up when the signal aborts.
   * @param broken told when the connection ends by itself
   * @throws what the library, the sandbox or the network says
   */
  static async connect(
    server: McpServer,
    ways: Ways,
    broken: (failure: Failure) => void,
    signal: AbortSignal,
  ): Promise<McpClient> {
    signal.throwIfAborted();
    // The library costs half a second and 30 MB: who has no servers does without.
    const library = await import('@modelcontextprotocol/client');
    const allowance = new Allowance();
    const sandbox = server.kind === 'stdio' ? await unlessAborted(ways.sandbox(), signal) : null;
    const client = new library.Client({ name: 'parley', version }, { jsonSchemaValidator: UNCHECKED });
    let transport: Transport;
    let unreached: unknown = null;
    if (server.kind === 'stdio') {
      if (!sandbox) throw new Error('a program needs a sandbox');
      transport = new ProgramTransport(server, sandbox, allowance, broken);
    } else {
      const noted: typeof globalThis.fetch = async (to, init) => {
        try {
          return await ways.fetch(to, init);
        } catch (error) {
          unreached = error;
          throw error;
        }
      };
      const fetch = remoteFetch(server, noted, allowance, (reason) => broken({ reason, detail: '' }));
      const url = new URL(server.url);
      transport =
        server.kind === 'sse'
          ? new library.SSEClientTransport(url, { fetch })
          : new library.StreamableHTTPClientTransport(url, { fetch });
    }
    const given = new McpClient(client, transport, allowance, sandbox);
    try {
      // The time-out of the library begins only with its first request; the signal bounds all of it.
      await unlessAborted(client.connect(transport, { signal, timeout: 2 ** 31 - 1 }), signal);
    } catch (error) {
      // A transport that failed to start was not taken over by the client.
      await transport.close().catch(() => {});
      // Of what a request for SSE failed with, the library keeps the text alone.
      throw unreached ?? error;
    }
    return given;
  }

  /** The tools as the server lists them, unread. */
  async list(signal: AbortSignal): Promise<unknown[]> {
    this.#allowance.renew('listing');
    this.#listed = true;
    if (!this.#client.getServerCapabilities()?.tools) return [];
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_LISTED; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.#client.request({ method: 'tools/list', params }, listed, {
        signal,
        timeout: 2 ** 31 - 1,
      });
      tools.push(...answer.tools.slice(0, MAX_LISTED));
      cursor = answer.nextCursor;
      if (!cursor) break;
    }
    return tools.slice(0, MAX_LISTED);
  }

  async call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<Called> {
    this.#allowance.renew('calling');
    const params = { name, arguments: input };
    return await this.#client.request({ method: 'tools/call', params }, called, {
      signal,
      timeout: 2 ** 31 - 1,
    });
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    if ('terminateSession' in transport && typeof transport.terminateSession === 'function') {
      // A courtesy: what the server keeps for us it may forget.
      const told = Promise.resolve(transport.terminateSession.call(transport));
      await unlessAborted(told, AbortSignal.timeout(PATIENCE_MS)).catch(() => {});
    }
    await this.#client.close().catch(() => {});
  }
}
