import { type Parley, prepareParley } from '../../test/support/parley.ts';

/** The service, started so that {@link Inspector} can look into it. */
export async function startInspected(env: Record<string, string>): Promise<Parley> {
  const parley = await prepareParley(env);
  await parley.start({ node: ['--inspect=127.0.0.1:0'] });
  return parley;
}

/** What a process holds after its garbage was collected. */
export interface Held {
  /** Bytes of JavaScript's heap and of buffers outside of it. */
  bytes: number;
  /** What keeps it alive, by kind: timers, sockets, handles. */
  resources: Record<string, number>;
}

/** Looks into a running server by Node's own debugging protocol, so that nothing has to be built into it. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: { result?: unknown; error?: unknown }) => void>();
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data));
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  static async of(parley: Parley): Promise<Inspector> {
    const address = /Debugger listening on (ws:\S+)/g;
    const newest = [...parley.output().matchAll(address)].at(-1)?.[1];
    if (newest === undefined) throw new Error('the server was not started to be inspected');
    const socket = new WebSocket(newest);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error('the server cannot be inspected')));
    });
    return new Inspector(socket);
  }

  async held(): Promise<Held> {
    for (let n = 0; n < 3; n += 1) await this.#ask('HeapProfiler.collectGarbage', {});
    return (await this.evaluate(`(() => {
      const { heapUsed, external } = process.memoryUsage();
      const resources = {};
      for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
      return { bytes: heapUsed + external, resources };
    })()`)) as Held;
  }

  /** Begins to measure the delay of the event loop; the function it gives ends that, with the milliseconds of p99. */
  async delay(): Promise<() => Promise<number>> {
    await this.evaluate(`(() => {
      globalThis.delayOfBench = process.getBuiltinModule('node:perf_hooks').monitorEventLoopDelay({ resolution: 1 });
      globalThis.delayOfBench.enable();
    })()`);
    // A timer of a millisecond is what it measures with.
    return async () => Number(await this.evaluate('globalThis.delayOfBench.percentile(99) / 1e6 - 1'));
  }

  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = (await this.#ask('Runtime.evaluate', {
      expression,
      returnByValue: true,
    })) as { result: { value: unknown }; exceptionDetails?: { text: string } };
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value;
  }

  async #ask(method: string, params: object): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await new Promise<{ result?: unknown; error?: unknown }>((resolve) =>
      this.#waiting.set(id, resolve),
    );
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
