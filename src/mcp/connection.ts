import { TimeLimit } from '../time-limit.ts';
import { McpClient, type Called, type Ways } from './client.ts';
import { Broken, failureOf, type Failure, refusalOf, type Refusal, statusOf } from './failure.ts';
import type { NamedServer } from './server.ts';
import { type LeftOut, type McpTool, readTools } from './tool-list.ts';

/** `idle`: not connected, and not to be before the agent works. */
export type ServerStatus = 'idle' | 'connecting' | 'ready' | 'failed';

/** Milliseconds. */
export interface McpTimeouts {
  /** Until a server is connected and has listed its tools. */
  connectMs: number;
  /** The same for a remote server that was silent for all of that the last time: each run would wait so long for it. */
  retryMs: number;
  /** Until a call is answered, where the server's own configuration says nothing else. */
  callMs: number;
}

export type CallOutcome =
  | { kind: 'answered'; called: Called }
  /** The server said no to the call. */
  | { kind: 'refused'; refusal: Refusal }
  /** No answer came. `effect`: whether the call may have been carried out all the same. */
  | { kind: 'failed'; reason: string; effect: 'none' | 'unknown' };

/** How often in a row one run tries in vain to connect a server. */
const MAX_TRIES = 3;

const SANDBOX_GONE: Failure = { reason: 'Its sandbox ended.', detail: '', withSandbox: true };
const NOT_CONNECTED: Failure = { reason: 'It is not connected.', detail: '' };

/** One server of a conversation: connected when it is needed, and again when its connection has ended. */
export class McpConnection {
  readonly named: NamedServer;
  readonly #timeouts: McpTimeouts;
  readonly #changed: (connection: McpConnection) => void;
  readonly #closing = new AbortController();
  #client: McpClient | null = null;
  /** Aborts what waits for the connection that is there now. */
  #gone = new AbortController();
  #status: ServerStatus = 'idle';
  #failure: Failure | null = null;
  #tools: readonly McpTool[] = [];
  #leftOut: readonly LeftOut[] = [];
  #failedTries = 0;
  #wasSilent = false;

  /** @param changed told whenever the status is another */
  constructor(named: NamedServer, timeouts: McpTimeouts, changed: (connection: McpConnection) => void) {
    this.named = named;
    this.#timeouts = timeouts;
    this.#changed = changed;
  }

  get status(): ServerStatus {
    return this.#status;
  }

  /** Why it failed; null otherwise. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** As it listed them when it was last connected. */
  get tools(): readonly McpTool[] {
    return this.#tools;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  /** A run begins: what failed in the one before may be tried again. Connects it unless it is connected. @throws the signal's reason */
  async begin(ways: Ways, signal: AbortSignal): Promise<void> {
    this.#failedTries = 0;
    const { sandbox } = this.#client ?? {};
    if (sandbox && sandbox !== (await ways.sandbox().catch(() => null))) {
      this.#break(this.#gone, SANDBOX_GONE);
    }
    if (this.#client && !this.#client.listed) await this.#list(this.#client, signal);
    if (!this.#client) await this.#connect(ways, signal);
  }

  /**
   * Calls a tool. A connection that has ended is made anew first; a call that may have reached the server is never
   * repeated. Never throws: an abort is an outcome too.
   */
  async call(
    tool: string,
    input: Record<string, unknown>,
    ways: Ways,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    for (let last = false; ; last = true) {
      const connected = await this.#connected(ways, signal).catch(() => null);
      if (!connected) return this.#notBegun(signal);
      const outcome = await this.#ask(connected, tool, input, signal);
      if (outcome !== 'not delivered') return outcome;
      if (last) return this.#notBegun(signal);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Broken({ reason: 'It was disconnected.', detail: '' }));
    const client = this.#client;
    this.#client = null;
    this.#gone.abort(this.#closing.signal.reason);
    this.#set('idle', null);
    await client?.close();
  }

  async #connected(ways: Ways, signal: AbortSignal): Promise<McpClient | null> {
    if (!this.#client && this.#failedTries < MAX_TRIES) await this.#connect(ways, signal);
    return this.#client;
  }

  async #connect(ways: Ways, signal: AbortSignal): Promise<void> {
    this.#set('connecting', null);
    const { connectMs, retryMs } = this.#timeouts;
    // A program may have been fetched in part, and goes on with that.
    const patience = this.#wasSilent && this.named.server.kind !== 'stdio' ? retryMs : connectMs;
    const gone = new AbortController();
    this.#gone = gone;
    const ends = AbortSignal.any([signal, gone.signal, this.#closing.signal]);
    using limit = new TimeLimit(ends, patience);
    const stop = limit.signal;
    let client: McpClient | null = null;
    try {
      const broken = (failure: Failure): void => this.#break(gone, failure);
      client = await McpClient.connect(this.named.server, ways, broken, stop);
      this.#take(await client.list(stop));
      stop.throwIfAborted();
      this.#client = client;
      this.#failedTries = 0;
      this.#wasSilent = false;
      this.#set('ready', null);
    } catch (error) {
      void client?.close();
      if (this.#closing.signal.aborted) return;
      if (signal.aborted) {
        this.#set('idle', null);
        throw signal.reason;
      }
      this.#failedTries += 1;
      this.#wasSilent = limit.isOver && !gone.signal.aborted;
      const said = this.#wasSilent
        ? { reason: `It did not answer within ${patience / 1000} seconds.`, detail: '' }
        : await failureOf(gone.signal.aborted ? gone.signal.reason : error);
      this.#set('failed', said);
    }
  }

  /** The server said that its tools have changed. One that cannot list them is connected anew. */
  async #list(client: McpClient, signal: AbortSignal): Promise<void> {
    const gone = this.#gone;
    using limit = new TimeLimit(AbortSignal.any([signal, gone.signal]), this.#timeouts.connectMs);
    try {
      this.#take(await client.list(limit.signal));
    } catch (error) {
      signal.throwIfAborted();
      this.#break(gone, await failureOf(error));
    }
  }

  #take(listed: readonly unknown[]): void {
    const { tools, leftOut } = readTools(listed);
    this.#tools = tools;
    this.#leftOut = leftOut;
  }

  async #ask(
    client: McpClient,
    tool: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallOutcome | 'not delivered'> {
    const { server } = this.named;
    const callMs = (server.kind === 'stdio' ? null : server.callMs) ?? this.#timeouts.callMs;
    const gone = this.#gone;
    using limit = new TimeLimit(AbortSignal.any([signal, gone.signal]), callMs);
    const failed = (reason: string): CallOutcome => ({ kind: 'failed', reason, effect: 'unknown' });
    try {
      return { kind: 'answered', called: await client.call(tool, input, limit.signal) };
    } catch (error) {
      if (signal.aborted) return failed('The conversation was stopped before it answered.');
      if (gone.signal.aborted) return failed((await failureOf(gone.signal.reason)).reason);
      if (limit.isOver) return failed(`It did not answer within ${callMs / 1000} seconds.`);
      const refusal = await refusalOf(error);
      if (refusal) return { kind: 'refused', refusal };
      const failure = await failureOf(error);
      // Of what the library says to be no valid answer, the connection knows nothing: it goes on.
      if ((await isInvalid(error)) && this.#client === client) return failed(failure.reason);
      this.#break(gone, failure);
      return (await wasNotDelivered(error)) ? 'not delivered' : failed(failure.reason);
    }
  }

  #notBegun(signal: AbortSignal): CallOutcome {
    const { reason } = this.#failure ?? NOT_CONNECTED;
    const said = signal.aborted ? 'The conversation was stopped.' : reason;
    return { kind: 'failed', reason: said, effect: 'none' };
  }

  /** The connection that `gone` stands for has ended. */
  #break(gone: AbortController, failure: Failure): void {
    if (gone.signal.aborted || this.#closing.signal.aborted) return;
    gone.abort(new Broken(failure));
    if (gone !== this.#gone || !this.#client) return;
    void this.#client.close();
    this.#client = null;
    if (failure.withSandbox) this.#set('idle', null);
    else this.#set('failed', failure);
  }

  #set(status: ServerStatus, failure: Failure | null): void {
    if (status === this.#status && failure?.reason === this.#failure?.reason) return;
    this.#status = status;
    this.#failure = failure;
    this.#changed(this);
  }
}

async function isInvalid(error: unknown): Promise<boolean> {
  const { SdkError, SdkErrorCode } = await import('@modelcontextprotocol/client');
  return error instanceof SdkError && error.code === SdkErrorCode.InvalidResult;
}

/**
 * Whether the call surely did not reach the tool: nobody listens any more, or a server that was started anew does not
 * know the session (404, and 400 of some), as streamable HTTP has it.
 */
async function wasNotDelivered(error: unknown): Promise<boolean> {
  const status = await statusOf(error);
  if (status !== null) return status === 404 || status === 400;
  const { reason } = await failureOf(error);
  return reason.includes('(ECONNREFUSED)');
}
