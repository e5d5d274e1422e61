/** Every status that the description gives for a route, provoked; and none that it does not give. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { DATABASE_FILE } from '../../src/storage/storage.ts';
import { type Operation, describedOperations } from './document.ts';
import { startGithub } from '../support/git/providers/github.ts';
import type { ProviderServer } from '../support/git/providers/server.ts';
import { hold } from '../support/held-database.ts';
import { GIT_HOST, REFUSALS, type Sample, SETUP, samples, storeToken } from './samples.ts';
import { type HostedService, hostService } from './service.ts';
import { inDue, sendBytes } from './transport.ts';

const run = promisify(execFile);

/** What a test is given to ask a service with. */
interface Asked {
  service: HostedService;
  key: string | null;
}

const isChanging = (route: string): boolean => !route.startsWith('GET ');
const OPEN = new Set([
  '/metrics',
  '/alive',
  '/health',
  '/ready',
  '/server_info',
  '/api/login',
  '/api/logout',
]);
const pathOf = (route: string): string => route.split(' ')[1] ?? '';
const isOpen = (route: string): boolean => OPEN.has(pathOf(route));
/** What changes nothing that is stored, though it is a POST. */
const TRIES = 'POST /api/settings/check';
const RESETS = 'POST /api/reset-settings';
const UPLOADS = 'POST /api/conversations/{id}/upload-files';
const OF_GIT = ['patch', 'git/changes', 'git/diff'].map((name) => `GET /api/conversations/{id}/${name}`);

/** What the routes answer to what is right that do not answer 200. */
const RIGHT: Readonly<Record<string, number>> = {
  'POST /api/secrets': 201,
  [RESETS]: 410,
};

describe('the statuses of the description', () => {
  let dataDir: string;
  let main: HostedService;
  let github: ProviderServer;
  let key: string;
  let operations: Operation[];
  let good: Readonly<Record<string, Sample>>;
  const provoked = new Map<string, Set<number>>();
  /** Done before the next call to the outside. */
  let meanwhile: (() => Promise<unknown>) | undefined;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-statuses-'));
    github = await startGithub();
    main = await hostService({
      env: { PARLEY_SANDBOX: 'unconfined', PARLEY_DATA_DIR: dataDir },
      fetch: async (input, init) => {
        const { url } = new Request(input);
        if (url.startsWith(GIT_HOST)) return await fetch(github.url + url.slice(GIT_HOST.length), init);
        const [, answers] = /^https:\/\/answers-([0-9]+)\./.exec(url) ?? [];
        if (answers !== undefined) return new Response('no', { status: Number(answers) });
        const first = meanwhile;
        meanwhile = undefined;
        await first?.();
        return Response.json({ login: 'ann', id: 1 });
      },
    });
    ({ key } = await main.addUser('ann'));
    operations = await describedOperations(main.server);
    good = samples(key, main.url);
    for (const sample of SETUP) {
      const status = await ask({ service: main, key }, sample);
      assert.ok(status < 300, `${sample.method} ${sample.path}: ${status}`);
    }
  });
  after(async () => {
    await main.close();
    await github.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function provoke(route: string, status: number, asked: Asked, sample: Sample): Promise<void> {
    note(route, status, await ask(asked, sample));
  }

  function note(route: string, status: number, got: number): void {
    assert.equal(got, status, route);
    provoked.set(route, (provoked.get(route) ?? new Set()).add(status));
  }

  /** All routes of a kind at once: what makes one wait makes all wait together. */
  async function each(
    isOf: (route: string) => boolean,
    one: (route: string, sample: Sample) => Promise<void>,
  ): Promise<void> {
    await Promise.all(
      Object.entries(good)
        .filter(([route]) => isOf(route))
        .map(([route, sample]) => one(route, sample)),
    );
  }

  it('400, 421: a request without a Host, or for another', async () => {
    await each(
      () => true,
      async (route, { method, path }) => {
        const line = `${method} ${path} HTTP/1.1\r\nconnection: close\r\n`;
        for (const [status, host] of [
          [400, ''],
          [421, 'host: elsewhere.example\r\n'],
        ] as const) {
          note(route, status, statusIn(await sendBytes(main.url, Buffer.from(`${line}${host}\r\n`))));
        }
      },
    );
  });

  it('401, 403: no key, or the cookie of a log-in with another page', async () => {
    const nobody = { service: main, key: null };
    await each(
      (route) => !isOpen(route),
      (route, sample) => provoke(route, 401, nobody, sample),
    );
    const headers = { cookie: 'parley_session=some', origin: 'https://elsewhere.example' };
    await each(
      (route) => !isOpen(route) || isChanging(route),
      (route, sample) => provoke(route, 403, nobody, { ...sample, headers }),
    );
  });

  it('413, 415, 422: a body that is too large, no JSON, or none that is right', async () => {
    await each(isChanging, async (route, { method, path, headers = {} }) => {
      const type = 'content-type: application/json\r\n';
      const more = Object.entries({ 'x-session-api-key': key, ...headers }).map(
        (pair) => `${pair.join(': ')}\r\n`,
      );
      const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${more.join('')}`;
      const large = `${head}${type}content-length: 99999999\r\n\r\n{`;
      note(route, 413, statusIn(await sendBytes(main.url, Buffer.from(large))));
      const text = `${head}content-type: text/plain\r\ncontent-length: 1\r\n\r\n1`;
      note(route, 415, statusIn(await sendBytes(main.url, Buffer.from(text))));
      const broken = `${head}${type}content-length: 1\r\n\r\n{`;
      note(route, 422, statusIn(await sendBytes(main.url, Buffer.from(broken))));
    });
  });

  it('408: a body that does not come', async () => {
    const slow = await hostService({ arrivalMs: 300 });
    try {
      const { key: its } = await slow.addUser('ann');
      await each(isChanging, async (route, { method, path, headers = {} }) => {
        const more = Object.entries({ ...headers, origin: slow.url }).map((pair) => `${pair.join(': ')}\r\n`);
        const head = `${method} ${path} HTTP/1.1\r\nhost: ${new URL(slow.url).host}\r\nx-session-api-key: ${its}\r\n`;
        const rest = 'content-type: application/json\r\ncontent-length: 9\r\n\r\n{';
        note(
          route,
          408,
          statusIn(await sendBytes(slow.url, Buffer.from(`${head}${more.join('')}${rest}`), false)),
        );
      });
    } finally {
      await slow.close();
    }
  });

  it('429: more requests than a key may send, more wrong keys than an address, more conversations than wait', async () => {
    const limited = await hostService({ env: { PARLEY_RATE_LIMIT: '1' } });
    try {
      const { key: its } = await limited.addUser('ann');
      await each(
        (route) => !isOpen(route),
        async (route, sample) => note(route, 429, await until(429, { service: limited, key: its }, sample)),
      );
      const wrong = { method: 'POST', path: '/api/login', body: { key: 'a-wrong-key' } };
      note('POST /api/login', 429, await until(429, { service: limited, key: null }, wrong));
    } finally {
      await limited.close();
    }
    const busy = await hostService({
      env: { PARLEY_MAX_RUNNING: '1,1' },
      fetch: () => new Promise(() => {}),
    });
    try {
      const asked = { service: busy, key: (await busy.addUser('ann')).key };
      const model = { llm_model: 'openai/scripted', llm_base_url: 'http://models.example/v1' };
      await ask(asked, { method: 'POST', path: '/api/settings', body: model });
      const create = { method: 'POST', path: '/api/conversations', body: { initial_user_msg: 'Hello' } };
      note('POST /api/conversations', 429, await until(429, asked, create));
    } finally {
      await busy.close();
    }
  });

  it('503: the database is held, the disk is almost full, there is no sandbox', async () => {
    const holder = new DatabaseSync(join(dataDir, DATABASE_FILE));
    try {
      await hold(holder);
      await each(
        (route) => isChanging(route) && ![TRIES, RESETS, UPLOADS].includes(route),
        (route, sample) => provoke(route, 503, { service: main, key }, sample),
      );
    } finally {
      // Takes back what it began.
      holder.close();
    }
    const bare = await hostService();
    try {
      const asked = { service: bare, key: (await bare.addUser('ann')).key };
      const { method, path } = good['GET /ready'] ?? { method: '', path: '' };
      await provoke('GET /ready', 503, asked, { method, path });
      for (const sample of SETUP) await ask(asked, sample);
      for (const route of OF_GIT) await provoke(route, 503, asked, good[route] ?? { method, path });
    } finally {
      await bare.close();
    }
  });

  it('404, 409 and others: what is asked for is not there, or not as it would have to be', async () => {
    const asked = { service: main, key };
    await each(
      (route) => route.includes('{id}') && !route.endsWith('/exp-config'),
      (route, sample) =>
        provoke(route, 404, asked, { ...sample, path: sample.path.replace(/one|going/, 'none') }),
    );
    const { key: another } = await main.addUser('bob');
    await provoke(
      'GET /api/settings',
      404,
      { service: main, key: another },
      { method: 'GET', path: '/api/settings' },
    );
    for (const [route, status, sample] of REFUSALS) {
      await provoke(route, status, isOpen(route) ? { service: main, key: null } : asked, sample);
    }

    const tokens = (host: string): Sample => ({
      method: 'POST',
      path: '/api/add-git-providers',
      body: { provider_tokens: { gitlab: { token: 'a-token-0123456789', host } } },
    });
    meanwhile = () => ask(asked, tokens('moved.example'));
    const onlyToken = {
      ...tokens(''),
      body: { provider_tokens: { gitlab: { token: 'a-token-9876543210' } } },
    };
    note('POST /api/add-git-providers', 409, await ask(asked, onlyToken));
  });

  it('403, 424: the git provider does not allow it, or gives no answer', async () => {
    for (const [status, answers] of [
      [403, 403],
      [424, 500],
    ] as const) {
      const { key: its } = await main.addUser(`asks ${answers}`);
      const asked = { service: main, key: its };
      await ask(asked, storeToken(`https://answers-${answers}.example`));
      await each(
        (route) => route.startsWith('GET /api/user/'),
        (route, sample) => provoke(route, status, asked, sample),
      );
    }
  });

  it('200, 201, 410: what is right', async () => {
    const asked = { service: main, key };
    const workspace = join(dataDir, 'workspaces', '1', 'workspace');
    await run('git', ['init', '-q', workspace]);
    for (const [route, sample] of Object.entries(good)) {
      await provoke(route, RIGHT[route] ?? 200, asked, sample);
    }
  });

  it('503 of an upload: the disk is almost full', async () => {
    await main.close();
    const full = await hostService({ env: { PARLEY_DATA_DIR: dataDir, PARLEY_MIN_FREE_SPACE: '8000T' } });
    main = full;
    for (const route of [UPLOADS, 'POST /api/conversations', 'POST /api/conversations/{id}/start'])
      await provoke(route, 503, { service: full, key }, good[route] ?? { method: '', path: '' });
  });

  it('are all of them, and there are no others', () => {
    const table = (entries: Iterable<[string, Iterable<number>]>): Record<string, number[]> =>
      Object.fromEntries(
        Array.from(entries, ([route, statuses]) => [route, [...statuses].toSorted((a, b) => a - b)]),
      );
    assert.deepEqual(table(provoked), table(operations.map(({ name, answers }) => [name, answers.keys()])));
  });
});

/** Gives the status; of a stream the head is enough. */
async function ask({ service, key }: Asked, { method, path, body, files, headers }: Sample): Promise<number> {
  const gone = new AbortController();
  const response = await inDue(
    fetch(service.url + path, {
      method,
      signal: gone.signal,
      headers: {
        ...(key !== null && { 'x-session-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(files && { body: formOf(files) }),
    }),
    `${method} ${path}`,
  );
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) gone.abort();
  else await response.arrayBuffer();
  return response.status;
}

function formOf(files: Record<string, Uint8Array>): FormData {
  const form = new FormData();
  for (const [name, bytes] of Object.entries(files))
    form.append('files', new Blob([new Uint8Array(bytes)]), name);
  return form;
}

/** Asks until it is so, a few at once; the last answer when it never is. */
async function until(status: number, asked: Asked, sample: Sample): Promise<number> {
  for (let tries = 0; ; tries += 1) {
    const got = await Promise.all(Array.from({ length: 10 }, () => ask(asked, sample)));
    if (got.includes(status)) return status;
    if (tries === 200) return got[0] ?? 0;
  }
}

function statusIn(said: string): number {
  return Number(/^HTTP\/1\.1 ([0-9]{3}) /.exec(said)?.[1] ?? 0);
}
