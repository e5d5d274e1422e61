import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { Authenticator } from '../../src/auth/authenticator.ts';
import { createKey, ensureUser } from '../../src/auth/keys.ts';
import { type HttpOptions, createHttpServer } from '../../src/http/server.ts';
import type { Routes } from '../../src/http/fastify-types.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { type Storage, openStorage } from '../../src/storage/storage.ts';

/** A real server on a free port of loopback, over a database of its own in a temporary folder. */
export interface TestServer {
  url: string;
  storage: Storage;
  server: FastifyInstance;
  auth: Authenticator;
  dataDir: string;
  /** A key of the user `default`, and that user's id. */
  key: string;
  userId: string;
  /** What was logged, a line each. */
  logged: string[];
  /** One more user with a key. */
  addUser(name: string): Promise<{ key: string; userId: string }>;
  /** A request with the key of `default`; a `body` that is not a string is sent as JSON. */
  request(method: string, path: string, more?: RequestMore): Promise<Answer>;
  close(): Promise<void>;
}

export interface RequestMore {
  body?: unknown;
  /** Another key; null for none. */
  key?: string | null;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined when it is not JSON. */
  json: unknown;
}

/** @param routes makes the routes once what they stand on is there */
export async function startHttp(
  routes: (storage: Storage, more: Pick<TestServer, 'auth' | 'dataDir'>) => readonly Routes[] = () => [],
  options: Partial<Pick<HttpOptions, 'rateLimit' | 'corsOrigins' | 'place' | 'webDir'>> = {},
): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-http-'));
  const storage = await openStorage(dataDir);
  const logged: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  const auth = new Authenticator(storage.read.keys, storage.transact, (error) => log.error(error));
  const addUser = (name: string) =>
    storage.transact(async ({ keys }) => {
      const user = await ensureUser(keys, name);
      const { key } = await createKey(keys, user, { label: 'test', expiresAt: null });
      return { key: key.unwrap(), userId: user.id };
    });
  const { key, userId } = await addUser('default');
  const server = await createHttpServer({
    auth,
    log,
    rateLimit: 0,
    corsOrigins: [],
    webDir: null,
    metrics: new Metrics(),
    place: { publicUrl: null, trustedProxies: ['loopback'], allowedHosts: null, loopback: true },
    ...options,
  });
  for (const plugin of routes(storage, { auth, dataDir })) await server.register(plugin);
  await server.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;

  async function request(method: string, path: string, more: RequestMore = {}): Promise<Answer> {
    const shown = more.key === undefined ? key : more.key;
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(shown !== null && { 'x-session-api-key': shown }),
        ...(more.body !== undefined && { 'content-type': 'application/json' }),
        ...more.headers,
      },
      ...(more.body !== undefined && {
        body: typeof more.body === 'string' ? more.body : JSON.stringify(more.body),
      }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  return {
    url,
    storage,
    server,
    auth,
    dataDir,
    key,
    userId,
    logged,
    addUser,
    request,
    close: async () => {
      await server.close();
      await auth.close();
      await storage.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
