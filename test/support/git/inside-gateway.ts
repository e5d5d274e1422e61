/** A git server, a gateway to it, and git as it sees the network in a sandbox. For tests of the gateway. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { NO_HOSTS } from '../../../src/egress/host-list.ts';
import { sandboxPolicy, servicePolicy } from '../../../src/egress/policy.ts';
import { startGateway } from '../../../src/sandbox/gateway/gateway.ts';
import { type GitFront, gitFrontConfig, PROXY_INSIDE } from '../../../src/sandbox/gateway/git-front.ts';
import type { Push, PushPolicy } from '../../../src/sandbox/gateway/push/push.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { type GitServer, type GitServerOptions, startGitServer } from './git-server.ts';

const run = promisify(execFile);
export const TOKEN = 'tok-0123456789-secret';
export const BASIC = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');

export interface InsideOptions extends Partial<GitServerOptions> {
  front?: Partial<GitFront>;
  pushPolicy?: PushPolicy;
  /** In the place of one with `acme/app`, `acme/other` and `acme/lib`; whoever gives it closes it. */
  server?: GitServer;
}

export interface Inside extends AsyncDisposable {
  server: GitServer;
  directory: string;
  refusals: string[];
  pushes: Push[];
  /** What the conversation has made at its repository. */
  made: Set<string>;
  git: (args: readonly string[], cwd?: string) => Promise<{ code: number; output: string }>;
}

/** A git server, a gateway to it, and a directory where git sees the network as it does in a sandbox. */
export async function inside({
  front = {},
  pushPolicy = 'protect',
  server: given,
  ...options
}: InsideOptions = {}): Promise<Inside> {
  const open: (() => Promise<unknown>)[] = [];
  const server =
    given ??
    (await startGitServer({
      repositories: {
        'acme/app': { files: { 'README.md': 'hello\n' }, branches: { feature: { 'new.txt': 'new\n' } } },
        'acme/other': {},
        'acme/lib': { files: { 'lib.txt': 'open\n' }, public: true },
      },
      accounts: [{ username: 'x-access-token', token: TOKEN }],
      ...options,
    }));
  if (!given) open.push(() => server.close());
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'));
  open.push(() => rm(directory, { recursive: true, force: true }));
  const socketPath = join(directory, 'gateway.sock');
  const gitFront: GitFront = {
    base: server.base,
    repository: 'acme/app',
    credential: { username: 'x-access-token', token: new Secret(TOKEN) },
    ...front,
  };
  const refusals: string[] = [];
  const pushes: Push[] = [];
  const made = new Set<string>();
  const gateway = await startGateway({
    socketPath,
    front: gitFront,
    policy: sandboxPolicy({ allowHosts: { all: false, names: (host) => host === 'thief.test' } }),
    resolve: async () => ['127.0.0.1'],
    frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
    log: (line) => refusals.push(line),
    pushRules: {
      policy: pushPolicy,
      made: async (_conversation, refs) => new Set(refs.filter((name) => made.has(name))),
    },
    pushed: (push) => {
      pushes.push(push);
      for (const ref of push.refs) if (ref.from === null && ref.answer === 'ok') made.add(ref.name);
    },
  });
  open.push(() => gateway.close());

  const relay = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ path: socketPath, allowHalfOpen: true });
    pipeline(client, upstream).catch(() => {});
    pipeline(upstream, client).catch(() => {});
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  open.push(async () => relay.close());
  const address = relay.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const config = join(directory, 'gitconfig');
  // Nothing goes on in the background when a command has ended: the directory is removed then.
  const own = '[user]\n\tname = A\n\temail = a@example.org\n[maintenance]\n\tauto = false\n';
  const proxy = `http://127.0.0.1:${address.port}`;
  await writeFile(config, gitFrontConfig(gitFront).replace(PROXY_INSIDE, proxy) + own);
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    GIT_CONFIG_SYSTEM: config,
    GIT_TERMINAL_PROMPT: '0',
    GIT_TRACE_CURL: join(directory, 'trace'),
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: 'localhost,127.0.0.1,::1',
    LC_ALL: 'C',
  };
  const git = async (args: readonly string[], cwd = directory) => {
    try {
      const { stdout, stderr } = await run('git', args, { cwd, env });
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, output: stdout + stderr };
    }
  };
  const close = async (): Promise<void> => {
    for (const one of open.splice(0).toReversed()) await one();
  };
  return { server, directory, refusals, pushes, made, git, [Symbol.asyncDispose]: close };
}
