import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { sandboxConformance } from '../../../test/conformance/sandbox.ts';
import { untilNoneSays } from '../../../test/support/processes.ts';
import { startGitServer } from '../../../test/support/git/git-server.ts';
import { NO_HOSTS } from '../../egress/host-list.ts';
import { sandboxPolicy, servicePolicy } from '../../egress/policy.ts';
import { Secret } from '../../secrets/secret.ts';
import { startGateway } from '../gateway/gateway.ts';
import { gitFrontConfig } from '../gateway/git-front.ts';
import type { CommandOutcome, Sandbox } from '../sandbox.ts';
import { startRelay } from './relay.ts';
import { startBench } from '../../../test/support/unconfined.ts';

sandboxConformance('unconfined', async () => {
  const bench = await startBench();
  return {
    ...bench,
    killEverything:
      'kill -9 $(grep -lzs "^PARLEY_SANDBOX_MARK=$PARLEY_SANDBOX_MARK\\$" /proc/[0-9]*/environ | tr -dc "0-9\\n" | grep -vx $$) $$',
    confines: false,
  };
});

const exec = (sandbox: Sandbox, command: string): Promise<CommandOutcome> =>
  sandbox.exec(command, { timeoutMs: 60_000, signal: new AbortController().signal });

test('git clones, fetches and pushes with a token that its commands do not see', async (t) => {
  const token = 'tok-0123456789-secret';
  const server = await startGitServer({
    repositories: { 'acme/app': { files: { 'README.md': 'hello\n' } }, 'acme/other': {} },
    accounts: [{ username: 'x-access-token', token }],
  });
  t.after(() => server.close());
  const bench = await startBench({
    gitConfig: gitFrontConfig,
    startGateway: (socketPath, front) =>
      startGateway({
        socketPath,
        front,
        policy: sandboxPolicy({ allowHosts: NO_HOSTS }),
        frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
      }),
  });
  t.after(() => bench.close());
  const front = {
    base: server.base,
    repository: 'acme/app',
    credential: { username: 'x-access-token', token: new Secret(token) },
  };
  const sandbox = await bench.provider.open(bench.spec(1, { git: front }), AbortSignal.timeout(60_000));
  const worked = await exec(
    sandbox,
    `set -e; git clone -q ${server.base}/acme/app.git; cd app; cat README.md; echo more >> README.md
     git commit -qam change; git push -q; git fetch -q; git log -1 --format=%s origin/HEAD`,
  );
  assert.deepEqual([worked.exitCode, worked.output], [0, 'hello\nchange\n']);
  const other = await exec(sandbox, `git clone -q ${server.base}/acme/other.git`);
  assert.match(other.output, /this conversation may use acme\/app only/);
  const search = await exec(
    sandbox,
    `env | grep -c ${token}; grep -rc ${token} . ~ | grep -v ":0$"; cat "$GIT_CONFIG_SYSTEM"`,
  );
  assert.match(search.output, /^0\n/);
  assert.doesNotMatch(search.output, new RegExp(token));
});

test('the gateway is reached through the proxy variables, and only by the same user', async (t) => {
  const bench = await startBench();
  t.after(() => bench.close());
  const socketPath = join(bench.top, 'echo.sock');
  const server = createServer((_, response) => response.end('from the gateway'));
  server.listen(socketPath);
  await once(server, 'listening');
  t.after(() => server.close());
  const relay = await startRelay(socketPath);
  t.after(() => relay.close());
  const answer = await fetch(`http://127.0.0.1:${relay.port}/`);
  assert.equal(await answer.text(), 'from the gateway');
  // Only root can be somebody else.
  if (process.getuid?.() === 0) {
    const ask = `exec 3<>/dev/tcp/127.0.0.1/${relay.port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
    const { stdout } = execFile('bash', ['--norc', '-c', ask], { uid: 65_534, gid: 65_534, cwd: '/' });
    assert.doesNotMatch(await text(stdout ?? assert.fail('no output')), /gateway/);
  }
});

test('a relay lets go of its connections when it is closed', async (t) => {
  const bench = await startBench();
  t.after(() => bench.close());
  const relay = await startRelay(join(bench.top, 'none.sock'));
  const refused = connect(relay.port, '127.0.0.1');
  await once(refused, 'close').catch(() => undefined);
  await relay.close();
});

test('the certificates of the service are trusted inside besides those of the system', async (t) => {
  const bench = await startBench();
  const caFile = join(bench.top, 'own.pem');
  await writeFile(caFile, 'own certificate\n');
  const withCa = await startBench({ caFile });
  t.after(() => Promise.all([bench.close(), withCa.close()]));
  const sandbox = await withCa.provider.open(withCa.spec(1), AbortSignal.timeout(60_000));
  assert.match((await exec(sandbox, 'cat "$SSL_CERT_FILE"')).output, /own certificate/);
});

test('a service that is killed leaves no process', async (t) => {
  const bench = await startBench();
  t.after(() => bench.close());
  const marker = `1000.${process.pid}${Date.now()}`;
  const service = `
    import { startBench } from '${import.meta.dirname}/../../../test/support/unconfined.ts';
    const bench = await startBench();
    const sandbox = await bench.provider.open(bench.spec(1), AbortSignal.timeout(60_000));
    const options = { timeoutMs: 60_000, signal: new AbortController().signal };
    await sandbox.exec('setsid sleep ${marker} & sleep ${marker} &', options);
    void sandbox.exec('echo; sleep ${marker}', { ...options, onOutput: () => process.stdout.write(bench.top) });`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', service], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [top] = await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await untilNoneSays(`sleep\0${marker}`);
  await bench.provider.discard({ key: 1, workspace: String(top), home: String(top) });
});

test('a run directory that cannot be used is said', async (t) => {
  const bench = await startBench();
  t.after(() => bench.close());
  const runDir = process.getuid?.() === 0 ? '/proc/self' : '/';
  const refused = await startBench({ runDir });
  t.after(() => refused.close());
  assert.equal(refused.provider.report.ok, false);
  await assert.rejects(refused.provider.open(refused.spec(1), AbortSignal.timeout(60_000)), {
    code: 'sandbox_unavailable',
  });
});

test('a provider that is closed leaves no run directory', async (t) => {
  const bench = await startBench();
  t.after(() => bench.close());
  await exec(await bench.provider.open(bench.spec(1), AbortSignal.timeout(60_000)), 'true');
  await bench.provider.close();
  assert.deepEqual(await readdir(bench.top), ['1']);
});
