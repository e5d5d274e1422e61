import { type Parley, prepareParley } from './parley.ts';

/** The service, started so that {@link Inspector} can look into it. */
export async function startInspected(env: Record<string, string>): Promise<Parley> {
  const parley = await prepareParley(env);
  await parley.start({ node: ['--inspect=127.0.0.1:0'] });
  return parley;
}

const COLLECTIONS = 5;

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
    await this.#collect();
    return (await this.evaluate(`(() => {
      const { heapUsed, external } = process.memoryUsage();
      const resources = {};
      for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
      return { bytes: heapUsed + external, resources };
    })()`)) as Held;
  }

  /**
   * How many objects there are of each constructor when garbage was collected, and how many entries all arrays, maps
   * and sets have. What leaves one thing behind each time it is done shows here, however small the thing is.
   */
  async counts(): Promise<Record<string, number>> {
    await this.#collect();
    const objectGroup = 'counted';
    const { result: all } = (await this.#ask('Runtime.evaluate', {
      expression: 'Object.prototype',
      objectGroup,
    })) as { result: { objectId: string } };
    const { objects } = (await this.#ask('Runtime.queryObjects', {
      prototypeObjectId: all.objectId,
      objectGroup,
    })) as { objects: { objectId: string } };
    const counted = await this.#ask('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: COUNT,
      returnByValue: true,
    });
    await this.#ask('Runtime.releaseObjectGroup', { objectGroup });
    return valueOf(counted) as Record<string, number>;
  }

  /** Writes what is reachable when garbage was collected to `file`, as V8 writes a heap snapshot. */
  async writeSnapshot(file: string): Promise<void> {
    await this.#collect();
    await this.evaluate(`process.getBuiltinModule('node:v8').writeHeapSnapshot(${JSON.stringify(file)})`);
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
    return valueOf(
      await this.#ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true }),
    );
  }

  /** What is told that something was collected lets go of more, a turn later: the signals of requests do. */
  async #collect(): Promise<void> {
    // Node remembers 250 requests that the process made, as pages do: the first of them would look like a leak.
    await this.evaluate('performance.clearResourceTimings()');
    for (let n = 0; n < COLLECTIONS; n += 1) {
      await this.#ask('HeapProfiler.collectGarbage', {});
      await this.evaluate('new Promise((resolve) => setImmediate(() => setImmediate(resolve)))');
    }
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

function valueOf(evaluated: unknown): unknown {
  const { result, exceptionDetails } = evaluated as {
    result: { value: unknown };
    exceptionDetails?: { text: string };
  };
  if (exceptionDetails) throw new Error(exceptionDetails.text);
  return result.value;
}

/** Runs in the inspected process, on an array of objects that may be anything: it calls nothing of theirs. */
const COUNT = `function () {
  const { isMap, isSet } = process.getBuiltinModule('node:util').types;
  const sizeOf = (kind, object) => Reflect.get(kind.prototype, 'size', object);
  const counts = {};
  const add = (what, many) => (counts[what] = (counts[what] ?? 0) + many);
  for (const object of this) {
    const prototype = Reflect.getPrototypeOf(object);
    const made = prototype && Reflect.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    add(typeof made === 'function' ? String(made.name) : '(no constructor)', 1);
    if (Array.isArray(object) && object !== this) add('entries of arrays', object.length);
    if (isMap(object)) add('entries of maps', sizeOf(Map, object));
    if (isSet(object)) add('entries of sets', sizeOf(Set, object));
  }
  return counts;
}`;
