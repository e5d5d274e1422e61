import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Event } from '../../src/events/event.ts';
import { PATIENCE_MS } from './eventually.ts';
import { ownPort } from './own-port.ts';

/** The real service in a process of its own, as a user starts it: its own data directory, a free port of loopback. */
export interface Parley {
  readonly url: string;
  readonly pid: number;
  readonly key: string;
  readonly dataDir: string;
  /** What it wrote to standard output and error, all of its processes since the first start. */
  readonly output: () => string;
  /** A request with the key of the user `default`, or another; JSON in, JSON out. */
  request(method: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** As {@link request}, for what must succeed: gives the body. */
  ok(method: string, path: string, body?: unknown, key?: string): Promise<unknown>;
  events(id: string, key?: string): Promise<Event[]>;
  /** Resolves with the conversation as soon as it is as asked; fails with what it is after `ms`. */
  until(id: string, is: (view: View) => boolean, ms?: number, key?: string): Promise<View>;
  /** Resolves with the events as soon as they are as asked. */
  untilEvents(id: string, are: (events: Event[]) => boolean, ms?: number): Promise<Event[]>;
  /** Runs `parley ARGUMENTS` beside the server; gives what it printed. */
  command(...args: string[]): Promise<string>;
  /** SIGKILL: what a crash leaves, stays. */
  crash(): Promise<void>;
  /** Starts it again on the same data directory and port, with more for this one process if given. */
  start(more?: More): Promise<void>;
  /** Whether its process lives. */
  readonly running: boolean;
  /** SIGTERM; gives the exit code. */
  stop(): Promise<number | null>;
  /** Stops it and removes its data directory, unless the test gave it one. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What one process is given beyond what all of them are. */
export interface More {
  /** Arguments for Node, before the program. */
  node?: readonly string[];
  /** A program with arguments that starts Node: `nsenter …`. */
  launcher?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface Reply {
  status: number;
  headers: Headers;
  body: unknown;
}

export interface View {
  status: string;
  runtime_status: string | null;
  agent_state: string;
  selected_branch: string | null;
  title: string;
  error: { code: string; message: string; hint: string } | null;
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export const TEST_KEY = 'a-key-for-tests-0123456789';

/** @param main what to run instead of the sources */
export async function startParley(env: Record<string, string> = {}, main = MAIN): Promise<Parley> {
  const parley = await prepareParley(env, main);
  await parley.start();
  return parley;
}

/** As {@link startParley}, not yet started: for a first start that is to fail. */
export async function prepareParley(env: Record<string, string> = {}, main = MAIN): Promise<Parley> {
  const dataDir = env['PARLEY_DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'parley-e2e-')));
  const environment = { ...baseEnvironment(), SESSION_API_KEY: TEST_KEY, PARLEY_DATA_DIR: dataDir, ...env };
  let child: ChildProcess | undefined;
  let url = '';
  let port = 0;
  let output = '';

  async function start({ node = [], launcher = [], env: moreEnv = {} }: More = {}): Promise<void> {
    port ||= await ownPort();
    const [program, ...args] = [
      ...launcher,
      process.execPath,
      ...node,
      main,
      'serve',
      '--port',
      String(port),
    ];
    child = spawn(program ?? '', args, {
      env: { ...environment, ...moreEnv },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    const serving = Promise.withResolvers<string>();
    if (!child.stderr) throw new Error('no standard error');
    createInterface({ input: child.stderr }).on('line', (line) => {
      output += `${line}\n`;
      const address = /serves at (\S+)/.exec(line)?.[1];
      if (address) serving.resolve(address);
    });
    // Not 'exit': why it ended may still be in the pipe then.
    child.once('close', (code) => serving.reject(new Error(`it ended with ${code}:\n${output}`)));
    const late = setTimeout(() => serving.reject(new Error(`it did not start:\n${output}`)), PATIENCE_MS);
    url = await serving.promise.finally(() => clearTimeout(late));
  }

  const isRunning = (): boolean =>
    child !== undefined && child.exitCode === null && child.signalCode === null;

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!child || !isRunning()) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = await exited;
    return typeof code === 'number' ? code : null;
  }

  async function request(method: string, path: string, body?: unknown, key = TEST_KEY): Promise<Reply> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key && { 'x-session-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  async function ok(method: string, path: string, body?: unknown, key?: string): Promise<unknown> {
    const reply = await request(method, path, body, key);
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  async function events(id: string, key?: string): Promise<Event[]> {
    const all: Event[] = [];
    for (;;) {
      const path = `/api/conversations/${id}/events?limit=100&start_id=${all.length}`;
      const page = (await ok('GET', path, undefined, key)) as { events: Event[]; has_more: boolean };
      all.push(...page.events);
      if (!page.has_more) return all;
    }
  }

  async function poll<T>(look: () => Promise<T>, is: (seen: T) => boolean, ms: number): Promise<T> {
    const deadline = Date.now() + ms;
    for (;;) {
      const seen = await look();
      if (is(seen)) return seen;
      if (Date.now() > deadline)
        throw new Error(`in vain for ${ms} ms, last: ${JSON.stringify(seen, null, 1)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function close(): Promise<void> {
    await end('SIGTERM');
    if (dataDir !== env['PARLEY_DATA_DIR']) await rm(dataDir, { recursive: true, force: true });
  }

  return {
    get url() {
      return url;
    },
    get pid() {
      return child?.pid ?? 0;
    },
    get running() {
      return isRunning();
    },
    key: TEST_KEY,
    dataDir,
    output: () => output,
    request,
    ok,
    events,
    until: (id, is, ms = PATIENCE_MS, key) =>
      poll(async () => (await ok('GET', `/api/conversations/${id}`, undefined, key)) as View, is, ms),
    untilEvents: (id, are, ms = PATIENCE_MS) => poll(() => events(id), are, ms),
    command: (...args) => runCommand(environment, args),
    crash: async () => void (await end('SIGKILL')),
    start,
    stop: () => end('SIGTERM'),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Nothing of the environment but what programs need to run and to trust the machine's certificates. */
function baseEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'TMPDIR'];
  return Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

async function runCommand(env: Record<string, string>, args: string[]): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`parley ${args.join(' ')} ended with ${code}: ${said}`);
  return printed;
}
