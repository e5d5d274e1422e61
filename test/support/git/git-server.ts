/**
 * A git server on loopback for tests: git's own `http-backend` behind Basic auth, with LFS, in this process.
 * Repositories are made from files in memory; every request is remembered with its headers.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as Listener } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { ownPort } from '../own-port.ts';

const run = promisify(execFile);

export interface RepositoryContent {
  /** Path → content of the first commit on `main`. Default: a README. */
  files?: Record<string, string>;
  /** More branches: the files each changes, in one commit on top of `main`. */
  branches?: Record<string, Record<string, string>>;
  /** Readable without an account. */
  public?: boolean;
}

export interface Account {
  /** Any user name will do when absent, as at most providers when the password is a token. */
  username?: string;
  token: string;
  /** `owner/name`s it may read and write; all when absent. */
  repositories?: readonly string[];
}

export interface GitServerOptions {
  repositories: Record<string, RepositoryContent>;
  accounts?: readonly Account[];
  /** Path before every repository: `/forge`. */
  prefix?: string;
  /** What LFS answers give the client to authenticate with: the request's own header (as Gitea does), or nothing. */
  lfsAuthorization?: 'echo' | 'none';
  /** Serves by https with this certificate. */
  tls?: { key: string; cert: string };
  /** Asked first for every request; answers it itself when it returns true. */
  intercept?: (incoming: IncomingMessage, response: ServerResponse) => boolean;
}

export interface GitServerRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  status: number;
}

export interface GitServer extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, with the prefix: what a user stores as the provider's host. */
  readonly base: string;
  cloneUrl(repository: string): string;
  /** Answered requests, oldest first. */
  readonly requests: readonly GitServerRequest[];
  branches(repository: string): Promise<string[]>;
  /** The commit at the head of the branch; null when there is no such branch. */
  commitOf(
    repository: string,
    branch: string,
  ): Promise<{ id: string; author: string; message: string } | null>;
  /** Rejects when the branch has no such file. */
  fileAt(repository: string, branch: string, path: string): Promise<string>;
  /** Ids of the LFS files the server holds. */
  lfsObjects(): readonly string[];
  close(): Promise<void>;
}

export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const root = await mkdtemp(join(tmpdir(), 'git-server-'));
  const { prefix = '', accounts = [] } = options;
  const requests: GitServerRequest[] = [];
  const lfsSizes = new Map<string, number>();
  const directory = (repository: string) => join(root, 'repositories', `${repository}.git`);
  const git = async (repository: string, ...args: string[]) =>
    (await run('git', ['--git-dir', directory(repository), ...args], { env: gitEnvironment(root) })).stdout;

  for (const [name, content] of Object.entries(options.repositories)) await makeRepository(name, content);

  async function makeRepository(name: string, content: RepositoryContent): Promise<void> {
    await run('git', ['init', '-q', '--bare', '-b', 'main', directory(name)], { env: gitEnvironment(root) });
    await git(name, 'config', 'http.receivepack', 'true');
    await git(name, 'config', 'uploadpack.allowFilter', 'true');
    const stream = [fastImport('main', null, content.files ?? { 'README.md': `# ${name}\n` })];
    for (const [branch, files] of Object.entries(content.branches ?? {})) {
      stream.push(fastImport(branch, 'main', files));
    }
    const importing = spawn('git', ['--git-dir', directory(name), 'fast-import', '--quiet'], {
      env: gitEnvironment(root),
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    importing.stdin.end(stream.join(''));
    const [code] = await once(importing, 'close');
    if (code !== 0) throw new Error(`fast-import of ${name} failed with ${code}`);
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (options.intercept?.(incoming, response)) return;
    const url = new URL(incoming.url ?? '/', 'http://server');
    const match = /^\/(.+?)(?:\.git)?\/(info\/.*|git-[a-z-]+)$/.exec(url.pathname.slice(prefix.length));
    const repository = Object.keys(options.repositories).find((name) => name === match?.[1]);
    const path = match?.[2];
    const account = accountOf(incoming.headers.authorization, accounts);
    const writes = path === 'git-receive-pack' || url.search.includes('git-receive-pack');
    const open = repository !== undefined && options.repositories[repository]?.public === true && !writes;
    if (!account && !open) {
      return answer(
        response,
        401,
        { 'www-authenticate': 'Basic realm="git"', 'set-cookie': 'seen=1' },
        'no account',
      );
    }
    const allowed = open || !account?.repositories || account.repositories.includes(repository ?? '');
    if (
      !url.pathname.startsWith(`${prefix}/`) ||
      repository === undefined ||
      path === undefined ||
      !allowed
    ) {
      return answer(response, 404, {}, 'no such repository');
    }
    if (path.startsWith('info/lfs/'))
      return lfs(incoming, response, repository, path.slice('info/lfs/'.length));
    return backend(incoming, response, `/${repository}.git/${path}`, url.search.slice(1));
  }

  /** CGI (RFC 3875), as `git-http-backend(1)` wants it. */
  async function backend(incoming: IncomingMessage, response: ServerResponse, path: string, query: string) {
    const { headers } = incoming;
    const child = spawn('git', ['http-backend'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...gitEnvironment(root),
        GIT_PROJECT_ROOT: join(root, 'repositories'),
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: incoming.method,
        REMOTE_USER: 'someone',
        REMOTE_ADDR: '127.0.0.1',
        CONTENT_TYPE: headers['content-type'] ?? '',
        ...(headers['content-length'] === undefined ? {} : { CONTENT_LENGTH: headers['content-length'] }),
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: headers['git-protocol']?.toString() ?? '',
      },
    });
    response.once('close', () => child.kill());
    pipeline(incoming, child.stdin).catch(() => {});
    await passCgiAnswer(child.stdout, response);
  }

  async function lfs(incoming: IncomingMessage, response: ServerResponse, repository: string, path: string) {
    const file = (id: string) => join(root, 'lfs', id);
    const [, id] = /^objects\/([0-9a-f]{64})$/.exec(path) ?? [];
    if (id !== undefined && incoming.method === 'PUT') {
      await mkdir(join(root, 'lfs'), { recursive: true });
      await pipeline(incoming, createWriteStream(file(id)));
      lfsSizes.set(id, (await stat(file(id))).size);
      return answer(response, 200, {}, '');
    }
    if (id !== undefined && lfsSizes.has(id)) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      return pipeline(createReadStream(file(id)), response);
    }
    const type = { 'content-type': 'application/vnd.git-lfs+json' };
    if (path === 'locks/verify') return answer(response, 200, type, JSON.stringify({ ours: [], theirs: [] }));
    if (path === 'verify') return answer(response, 200, type, '{}');
    if (path !== 'objects/batch')
      return answer(response, 404, type, JSON.stringify({ message: 'not found' }));

    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const asked = (await json(incoming)) as { operation: string; objects: { oid: string; size: number }[] };
    const header =
      options.lfsAuthorization === 'none' ? {} : { Authorization: incoming.headers.authorization ?? '' };
    const action = (rest: string) => ({ href: `${base}/${repository}.git/info/lfs/${rest}`, header });
    const objects = asked.objects.map(({ oid, size }) => {
      if (asked.operation === 'upload') {
        const actions = { upload: action(`objects/${oid}`), verify: action('verify') };
        return lfsSizes.has(oid) ? { oid, size } : { oid, size, actions };
      }
      if (!lfsSizes.has(oid)) return { oid, size, error: { code: 404, message: 'no such file' } };
      return { oid, size, actions: { download: action(`objects/${oid}`) } };
    });
    answer(response, 200, type, JSON.stringify({ transfer: 'basic', objects }));
  }

  const handle = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = incoming;
    response.once('close', () => requests.push({ method, url, headers, status: response.statusCode }));
    serve(incoming, response).catch(() => response.destroy());
  };
  const { tls } = options;
  const server = tls
    ? createTlsServer({ ...tls, requestTimeout: 0 }, handle)
    : createServer({ requestTimeout: 0 }, handle);
  const port = await listen(server);
  const base = `http${tls ? 's' : ''}://127.0.0.1:${port}${prefix}`;

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }

  return {
    port,
    base,
    requests,
    cloneUrl: (repository) => `${base}/${repository}.git`,
    lfsObjects: () => [...lfsSizes.keys()],
    async branches(repository) {
      const names = await git(repository, 'for-each-ref', '--format=%(refname:short)', 'refs/heads');
      return names.split('\n').filter((name) => name !== '');
    },
    async commitOf(repository, branch) {
      const heads = await git(repository, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);
      const id = heads.trim();
      if (id === '') return null;
      const [author = '', ...message] = (
        await git(repository, 'log', '-1', '--format=%an <%ae>%n%B', id)
      ).split('\n');
      return { id, author, message: message.join('\n').trim() };
    },
    fileAt: (repository, branch, path) => git(repository, 'show', `refs/heads/${branch}:${path}`),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function accountOf(authorization: string | undefined, accounts: readonly Account[]): Account | undefined {
  const [, encoded] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [username, ...rest] = Buffer.from(encoded, 'base64').toString().split(':');
  const token = rest.join(':');
  return accounts.find((one) => one.token === token && (one.username ?? username) === username);
}

/** One commit in the language of `git-fast-import(1)`. */
function fastImport(branch: string, from: string | null, files: Record<string, string>): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const paths = Object.entries(files).map(
    ([path, text]) => `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`,
  );
  const head = `commit refs/heads/${branch}\ncommitter A Person <person@example.org> 1700000000 +0000\n`;
  return `${head}${data(`Add ${branch}`)}${from === null ? '' : `from refs/heads/${from}\n`}${paths.join('')}\n`;
}

function gitEnvironment(root: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
}

/** Reads the CGI head from what the program writes, and passes the rest on. */
async function passCgiAnswer(output: Readable, response: ServerResponse): Promise<void> {
  let head = Buffer.alloc(0);
  let end = -1;
  for await (const chunk of output.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    head = Buffer.concat([head, chunk]);
    end = head.indexOf('\r\n\r\n');
    if (end >= 0) break;
  }
  if (end < 0) return answer(response, 500, {}, 'git http-backend gave no answer');
  let status = 200;
  for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
    const [name = '', value = ''] = line.split(/:\s*(.*)/s);
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(status).write(head.subarray(end + 4));
  await pipeline(output, response);
}

function answer(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body);
}

/** At a port of its own: when it has gone, nobody else is found there. */
async function listen(server: Listener): Promise<number> {
  const port = await ownPort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return port;
}
