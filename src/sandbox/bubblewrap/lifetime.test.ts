import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  access,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
  rmdir,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServiceError } from '../../errors.ts';
import { openBubblewrap } from './provider.ts';
import {
  benchOptions,
  groupsNamed,
  never,
  processesWith,
  run,
  startBench,
  type Bench,
} from '../../../test/support/bubblewrap.ts';

describe('a sandbox', () => {
  let bench: Bench;
  before(async () => void (bench = await startBench()));
  after(() => bench[Symbol.asyncDispose]());

  const sandboxesIn = async (runDir: string): Promise<string[]> =>
    (await readdir(runDir)).filter((name) => name.startsWith('parley-'));

  test('leaves nothing when it is closed: no process, directory, socket or control group', async () => {
    const sandbox = await bench.open(1);
    await run(
      sandbox,
      '(setsid sleep 600 &); nohup sleep 600 >/dev/null 2>&1 & disown; perl -e "fork and exit; sleep 600" & true',
    );
    const [name = ''] = await sandboxesIn(bench.runDir);
    assert.ok((await processesWith(`/${name}/`)).length > 3);
    await sandbox.close();
    assert.deepEqual(await processesWith(`/${name}/`), []);
    assert.deepEqual(await sandboxesIn(bench.runDir), []);
    assert.deepEqual(await groupsNamed(name), []);
  });

  test('keeps workspace and home for the next one', async () => {
    await bench.once('echo w > /workspace/f; echo h > ~/f; export KEPT=yes; mkdir d; cd d');
    assert.equal(
      (await bench.once('cat /workspace/f ~/f; echo $KEPT; pwd')).output,
      'w\nh\nyes\n/workspace/d\n',
    );
  });

  test('is opened a second time only after the first has ended', async () => {
    const first = await bench.open(1);
    const [second] = await Promise.all([bench.open(1), first.ended]);
    assert.equal((await run(second, 'echo second')).output, 'second\n');
    assert.equal((await run(first, 'echo first')).kind, 'lost');
    await second.close();
  });

  test('of a reading agent cannot write its workspace', async () => {
    await bench.once('echo text > /workspace/read-me', { readOnlyWorkspace: false });
    const command =
      'cd /workspace; cat read-me; touch new || rm read-me || mount -o remount,rw /workspace; echo kept > ~/note; cat ~/note';
    const { output } = await bench.once(command, { readOnlyWorkspace: true });
    assert.match(output, /^text\n/);
    assert.match(output, /kept\n$/);
    assert.deepEqual((await readdir(bench.spec(1).workspace)).includes('new'), false);
  });

  test('works on directories below one that is closed to all others', async () => {
    const closed = join(bench.data, 'closed');
    await mkdir(closed, { recursive: true });
    await chmod(closed, 0o700);
    const tools = join(closed, 'tools');
    await mkdir(join(tools, 'bin'), { recursive: true });
    await writeFile(join(tools, 'bin', 'mytool'), '#!/bin/sh\necho from the tool\n', { mode: 0o755 });
    const provider = await openBubblewrap(benchOptions(join(closed, 'run'), { extraReadOnlyPaths: [tools] }));
    assert.equal(provider.report.reason, '');
    const spec = bench.spec(1, { workspace: join(closed, 'w'), home: join(closed, 'h') });
    const sandbox = await provider.open(spec, never);
    const { output } = await run(
      sandbox,
      `echo in > f; echo home > ~/f; mytool; touch ${tools}/x 2>/dev/null || echo closed; ls ${closed}`,
    );
    assert.equal(output, 'from the tool\nclosed\ntools\n');
    assert.equal(await readFile(join(closed, 'w', 'f'), 'utf8'), 'in\n');
    await provider.discard(spec);
    await provider.close();
    assert.deepEqual(await readdir(closed), ['tools']);
    const mounts = await readFile('/proc/self/mountinfo', 'utf8');
    assert.ok(!mounts.includes(closed));
  });

  test('starts again after a command closed its own directories', async () => {
    await bench.once('chmod 000 /workspace ~');
    assert.equal((await bench.once('cd /workspace && ls -d .')).output, '.\n');
  });

  test('whose start is given up leaves nothing', async () => {
    const stop = new AbortController();
    const opening = bench.provider.open(bench.spec(5), stop.signal);
    stop.abort(new Error('given up'));
    await assert.rejects(opening, /given up/);
    assert.deepEqual(await sandboxesIn(bench.runDir), []);
  });

  test('is thrown away with whatever was left in it, and nothing else', async () => {
    const outside = join(bench.data, 'outside');
    await mkdir(outside, { recursive: true });
    await writeFile(join(outside, 'file'), 'stays');
    const spec = bench.spec(6);
    await bench.once(
      'mkdir -p a/b; cd a; for i in {1..300}; do mkdir ddddddddddddddddddddd; cd ddddddddddddddddddddd; done; cd /workspace; ln -s / root; mkfifo fifo; touch a/b/f; chmod 000 a/b a; chattr +i fifo 2>/dev/null; true',
      spec,
    );
    await symlink(outside, join(spec.workspace, 'link'));
    await symlink(join(outside, 'file'), join(spec.home, 'link'));
    await bench.provider.discard(spec);
    await assert.rejects(access(spec.workspace));
    await assert.rejects(access(spec.home));
    assert.equal(await readFile(join(outside, 'file'), 'utf8'), 'stays');
  });

  test('whose place is taken by a link is not opened', async () => {
    const spec = bench.spec(7);
    await mkdir(join(bench.data, '7'), { recursive: true });
    await symlink('/', spec.workspace);
    await assert.rejects(
      bench.open(7),
      (error) => error instanceof ServiceError && error.code === 'sandbox_unavailable',
    );
  });
});

describe('a provider', () => {
  test('has tested itself, check by check', async () => {
    await using bench = await startBench();
    const { checks, kind, ok } = bench.provider.report;
    assert.deepEqual([kind, ok], ['bubblewrap', true]);
    assert.deepEqual(
      checks.map(({ name }) => name),
      [
        'start',
        'own uid',
        'no privileges',
        'kernel settings',
        'system calls',
        'socket families',
        'host network',
        'environment',
        'process limit',
        'memory limit',
      ],
    );
  });

  test('has tested itself where conversations have their folders, and leaves nothing there', async () => {
    await using bench = await startBench();
    const closed = join(bench.data, 'closed');
    await mkdir(closed, { recursive: true });
    await chmod(closed, 0o700);
    const workspaces = join(closed, 'workspaces');
    const provider = await openBubblewrap(benchOptions(join(bench.data, 'run'), { workspaces }));
    assert.equal(provider.report.reason, '');
    await provider.close();
    assert.deepEqual(await readdir(workspaces), []);
    await rmdir(workspaces);
    await writeFile(workspaces, 'in its place');
    const { report } = await openBubblewrap(benchOptions(join(bench.data, 'run'), { workspaces }));
    assert.equal(report.ok, false);
    assert.match(report.reason, /cannot be made here: ENOTDIR/);
  });

  test('ends every sandbox when it closes, and opens none afterwards', async () => {
    const bench = await startBench();
    const sandbox = await bench.open(1);
    const command = run(sandbox, 'sleep 600');
    await bench.provider.close();
    assert.equal((await command).kind, 'lost');
    assert.deepEqual(await processesWith(bench.runDir), []);
    await assert.rejects(
      bench.open(1),
      (error) => error instanceof ServiceError && error.code === 'shutting_down',
    );
    await bench[Symbol.asyncDispose]();
  });

  test('leaves another service on the machine alone', async () => {
    await using first = await startBench();
    const sandbox = await first.open(1);
    await using second = await startBench();
    assert.equal((await second.once('echo two')).output, 'two\n');
    assert.equal((await run(sandbox, 'echo one')).output, 'one\n');
  });

  test('refuses a run directory that a living service uses, and says so', async () => {
    await using bench = await startBench();
    const { report } = await openBubblewrap(benchOptions(bench.runDir));
    assert.equal(report.ok, false);
    assert.match(report.reason, /already keeps its sandboxes in/);
  });

  test('removes what a service that was killed has left', async () => {
    const top = await mkdtemp(join(tmpdir(), 'parley-bw-'));
    await chmod(top, 0o711);
    const runDir = join(top, 'run');
    const program = `
      import { openBubblewrap } from ${JSON.stringify(import.meta.resolve('./provider.ts'))};
      import { benchOptions, never } from ${JSON.stringify(import.meta.resolve('../../../test/support/bubblewrap.ts'))};
      const provider = await openBubblewrap(benchOptions(${JSON.stringify(runDir)}));
      const sandbox = await provider.open({ key: 1, workspace: ${JSON.stringify(join(top, 'w'))}, home: ${JSON.stringify(join(top, 'h'))},
        readOnlyWorkspace: false, workdir: '/workspace', env: {}, identity: { name: 'A', email: 'a@b.c' }, git: null,
        limits: { memoryBytes: 2 ** 28, processes: 64, cpus: 1, diskBytes: 2 ** 26 } }, never);
      await sandbox.exec('(setsid sleep 600 &); echo on', { timeoutMs: 60_000, signal: never });
      process.stdout.write('ready');
      setInterval(() => undefined, 1000);`;
    const service = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(service.stdout, 'data')) as [Buffer];
    assert.equal(said.toString(), 'ready');
    const [name = ''] = (await readdir(runDir)).filter((entry) => entry.startsWith('parley-'));
    service.kill('SIGKILL');
    await once(service, 'exit');
    assert.ok((await readdir(runDir)).includes(name));
    const provider = await openBubblewrap(benchOptions(runDir));
    assert.equal(provider.report.reason, '');
    assert.deepEqual(await processesWith(`/${name}/`), []);
    assert.ok(!(await readdir(runDir)).includes(name));
    assert.deepEqual(await groupsNamed(name), []);
    await provider.close();
    await rm(top, { recursive: true, force: true });
  });

  test('whose run directory was cleaned away makes it again for the next sandbox', async () => {
    await using bench = await startBench();
    await rm(bench.runDir, { recursive: true });
    assert.equal((await bench.once('id -un')).output, 'agent\n');
    const second = await openBubblewrap(benchOptions(bench.runDir));
    assert.match(second.report.reason, /already keeps its sandboxes in/);
  });

  test('whose run directory cannot be its own says so and opens none', async () => {
    await using bench = await startBench();
    const notADirectory = join(bench.data, 'file');
    await mkdir(bench.data, { recursive: true });
    await writeFile(notADirectory, '');
    for (const runDir of [join(notADirectory, 'run'), notADirectory]) {
      const provider = await openBubblewrap(benchOptions(runDir));
      assert.equal(provider.report.ok, false);
      assert.match(provider.report.reason, /run directory cannot be used/);
      await assert.rejects(provider.open(bench.spec(1), never), /run directory cannot be used/);
    }
  });
});
