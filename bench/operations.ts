import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey, ensureUser } from '../src/auth/keys.ts';
import { openStorage } from '../src/storage/storage.ts';
import { besideRow } from './beside.ts';
import { CONVERSATION_BODIES, providerBodies, SETTINGS_BODIES } from './bodies.ts';
import type { Row } from './row.ts';

const KEY = 'a-key-of-the-bench-long-enough';

/** So many that none has a thousand conversations waiting, which is where the service says no. */
const USERS = 120;

/** POST of all 25 settings members. */
export function settingsRow(): Promise<Row> {
  return besideRow('25 members', {
    path: '/api/settings',
    bodies: SETTINGS_BODIES,
    keys: [KEY],
    env: { PARLEY_SANDBOX: 'none', SESSION_API_KEY: KEY },
  });
}

/** POST of a token; the git host answers at once whose it is. */
export async function providersRow(): Promise<Row> {
  await using host = await Neighbour.start();
  return await besideRow('one new token', {
    path: '/api/add-git-providers',
    bodies: providerBodies(host.url),
    keys: [KEY],
    env: { PARLEY_SANDBOX: 'none', SESSION_API_KEY: KEY },
  });
}

/**
 * POST of new conversations. Only the request is measured: one conversation, whose model never answers, has the only
 * place to run, and all others wait.
 */
export async function conversationsRow(): Promise<Row> {
  await using model = await Neighbour.start();
  const keys: string[] = [];
  return await besideRow('new, with a message', {
    path: '/api/conversations',
    bodies: CONVERSATION_BODIES,
    keys,
    env: {
      PARLEY_SANDBOX: 'unconfined',
      PARLEY_MAX_RUNNING: '1,1',
      PARLEY_ALLOW_PRIVATE_HOSTS: new URL(model.url).host,
      SESSION_API_KEY: KEY,
    },
    prepare: async (data) => {
      await mkdir(data, { mode: 0o700 });
      keys.push(...(await makeUsers(data)));
    },
    begin: (port) => occupy(port, model.url),
  });
}

async function makeUsers(data: string): Promise<string[]> {
  const storage = await openStorage(data);
  const keys = await storage.transact(async (stores) => {
    const made: string[] = [];
    for (let n = 0; n < USERS; n += 1) {
      const user = await ensureUser(stores.keys, `user${n}`);
      const { key } = await createKey(stores.keys, user, { label: 'bench', expiresAt: null });
      made.push(key.unwrap());
    }
    return made;
  });
  await storage.close();
  return keys;
}

/** Has a conversation run that never ends. */
async function occupy(port: number, model: string): Promise<void> {
  const send = async (path: string, body?: unknown): Promise<unknown> => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: {
        'X-Session-API-Key': KEY,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`);
    return await reply.json();
  };
  await send('/api/settings', {
    llm_model: 'openai/silent',
    llm_base_url: `${model}/v1`,
    llm_api_key: 'any-key-at-all',
  });
  await send('/api/conversations', { conversation_id: 'first', initial_user_msg: 'Hello.' });
  for (;;) {
    const seen = JSON.stringify(await send('/api/conversations/first'));
    if (seen.includes('"running"')) return;
    if (seen.includes('"ERROR"')) throw new Error(`the conversation that occupies the place failed: ${seen}`);
    await sleep(50);
  }
}

/** {@link ./git-host.ts}, until it is disposed of. */
class Neighbour implements AsyncDisposable {
  readonly url: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, end: () => Promise<void>) {
    this.url = url;
    this.#end = end;
  }

  static async start(): Promise<Neighbour> {
    const child = spawn(process.execPath, ['bench/git-host.ts'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
    const [port] = await child.stdout.setEncoding('utf8').take(1).toArray();
    return new Neighbour(`http://127.0.0.1:${Number(port)}`, async () => {
      child.stdin.end();
      await exited;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end();
  }
}
