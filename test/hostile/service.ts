import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { build } from '../../src/app/app.ts';
import { createKey, ensureUser } from '../../src/auth/keys.ts';
import { readConfig } from '../../src/config.ts';
import { type Storage, openStorage } from '../../src/storage/storage.ts';

/** The real service in this process, without a sandbox and without a network: what it calls answers at once, or refuses. */
export interface HostedService {
  readonly server: FastifyInstance;
  readonly url: string;
  readonly dataDir: string;
  /** Its database by a second connection, as the command line has it. */
  readonly storage: Storage;
  /** A user with a key; known by the name. */
  addUser(name: string): Promise<{ key: string; userId: string }>;
  close(): Promise<void>;
}

export async function hostService(
  more: { env?: Record<string, string>; fetch?: typeof fetch; arrivalMs?: number } = {},
): Promise<HostedService> {
  const given = more.env?.['PARLEY_DATA_DIR'];
  const dataDir = given ?? (await mkdtemp(join(tmpdir(), 'parley-hostile-')));
  const config = readConfig({
    PARLEY_DATA_DIR: dataDir,
    PARLEY_SANDBOX: 'none',
    PARLEY_RATE_LIMIT: '0',
    PARLEY_MIN_FREE_SPACE: '0',
    PORT: '0',
    ...more.env,
  });
  const outside = more.fetch ?? answerOrRefuse();
  const app = await build(config, pino({ level: 'silent' }, { write: () => {} }), {
    fetch: () => Object.assign(outside, { close: () => Promise.resolve() }),
    ...(more.arrivalMs !== undefined && { arrivalMs: more.arrivalMs }),
  });
  const url = await app.listen();
  const storage = await openStorage(dataDir);
  return {
    server: app.server,
    url,
    dataDir,
    storage,
    addUser: (name) =>
      storage.transact(async ({ keys }) => {
        const user = await ensureUser(keys, name);
        const { key } = await createKey(keys, user, { label: 'test', expiresAt: null });
        return { key: key.unwrap(), userId: user.id };
      }),
    close: async () => {
      await storage.close();
      await app.close();
      if (given === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** All that the service calls: every other call is refused, the others get an answer that is enough for either use. */
function answerOrRefuse(): typeof fetch {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls % 2 === 0) return Promise.resolve(Response.json({ message: 'refused' }, { status: 401 }));
    const message = { role: 'assistant', content: 'done' };
    return Promise.resolve(
      Response.json({
        login: 'ann',
        id: 1,
        object: 'chat.completion',
        created: 1,
        model: 'scripted',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
  };
}
