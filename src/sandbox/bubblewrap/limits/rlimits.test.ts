import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { confine, type Ground } from '../confine.ts';
import { prepareDirectory } from '../directories.ts';
import { inspectHost } from '../host.ts';
import { Instance } from '../instance.ts';
import { makeSharedFiles } from '../made-files.ts';
import { selfTest } from '../self-test.ts';
import { isRoot, processesWith } from '../../../../test/support/bubblewrap.ts';
import type { LimitKeeper } from './limits.ts';
import { rlimits } from './rlimits.ts';

const MIB = 1024 ** 2;
const LIMITS = { memoryBytes: 128 * MIB, processes: 64, cpus: 1, diskBytes: 64 * MIB };

/** The rung below control groups, on hosts that have them too. */
describe('limits without control groups', () => {
  let top: string;
  let ground: Ground;
  before(async () => {
    top = await mkdtemp(join(tmpdir(), 'parley-bw-'));
    await chmod(top, 0o711);
    const found = await inspectHost();
    if (!found.ok) throw new Error(found.reason);
    const instance = await Instance.open(join(top, 'run'));
    const id = 1_500_000_000 + process.pid;
    ground = {
      host: found.host,
      instance,
      keeper: rlimits(),
      sharedFiles: await makeSharedFiles(join(instance.directory, 'etc'), null),
      extraReadOnlyPaths: [dirname(process.execPath)],
      userOf: () => (isRoot ? { uid: id, gid: id } : null),
    };
  });
  after(() => rm(top, { recursive: true, force: true }));

  async function start(command: string): ReturnType<typeof confine> {
    const [workspace, home] = [join(top, 'w'), join(top, 'h')];
    for (const path of [workspace, home]) await prepareDirectory(path, ground.userOf(1));
    await mkdir(ground.instance.directoryOf(1), { recursive: true });
    return await confine(ground, {
      key: 1,
      limits: LIMITS,
      layout: { workspace, home, readOnlyWorkspace: false, shell: null, env: { PATH: '/usr/bin:/bin' } },
      watchDisk: false,
      command: ['bash', '--norc', '--noprofile', '-c', command],
    });
  }

  test('pass the self test, with their own names in it', async () => {
    const { reason, checks } = await selfTest(ground);
    assert.equal(reason, '');
    assert.match(checks.find(({ name }) => name === 'process limit')?.detail ?? '', /by rlimit/);
    assert.match(checks.find(({ name }) => name === 'memory limit')?.detail ?? '', /by watchdog/);
  });

  test('end fifty processes that allocate together, sessions of their own included', async () => {
    const hoard = `perl -e 'push @x, $_ . ("x" x 100000) and select(undef, undef, undef, 0.01) for 1 .. 100000'`;
    const confined = await start(`for i in {1..50}; do setsid ${hoard} & done; wait`);
    assert.match((await confined.exited).reason, /memory.*128 MiB/);
    assert.deepEqual(await processesWith(top), []);
  });

  const [memfd, prctl] = process.arch === 'x64' ? [319, 157] : [279, 167];
  for (const [what, how] of [
    [
      'files that no process has mapped',
      `my $fd = syscall(${memfd}, my $name = "x", 0); open F, ">&=$fd" or die; print F "x" x 4000000 for 1 .. 60; sleep 60`,
    ],
    [
      'a process that lets nobody look into it',
      `syscall(${prctl}, 4, 0, 0, 0, 0) == 0 or die; push @x, $_ . ("x" x 100000) for 1 .. 4000; sleep 60`,
    ],
  ] as const) {
    test(`count the memory of ${what}`, async () => {
      const confined = await start(`exec perl -e '${how}'`);
      assert.match((await confined.exited).reason, /memory.*128 MiB/);
    });
  }

  test('find what a second thread has started', async () => {
    await mkdir(join(top, 'w'), { recursive: true });
    await writeFile(
      join(top, 'w', 'main.cjs'),
      `const hoard = "push @x, $_ . ('x' x 100000) for 1 .. 4000; sleep 60";
       const code = 'require("node:child_process").spawnSync("perl", ["-e", process.env.HOARD])';
       new (require('node:worker_threads').Worker)(code, { eval: true, env: { ...process.env, HOARD: hoard } });`,
    );
    const confined = await start(`exec ${process.execPath} main.cjs`);
    assert.match((await confined.exited).reason, /memory.*128 MiB/);
  });

  test('that are not held are found by the self test, which says which and what was seen', async () => {
    const none: LimitKeeper = {
      ...rlimits(),
      kinds: { memory: 'none', processes: 'none', cpu: 'none' },
      async create(name, limits) {
        const bounds = await rlimits().create(name, limits);
        return Object.assign(bounds, { dataBytes: null, breach: async () => null });
      },
    };
    const { ok, reason, checks } = await selfTest({ ...ground, keeper: none });
    assert.equal(ok, false);
    assert.match(reason, /process limit.*200 processes could be made/);
    assert.equal(checks.find(({ name }) => name === 'memory limit')?.ok, false);
  });

  test('and a filter that lets everything pass is found by the self test', async () => {
    // RET ALLOW
    const seccomp = Buffer.from([0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
    const { ok, checks } = await selfTest({ ...ground, host: { ...ground.host, seccomp } });
    assert.equal(ok, false);
    const failed = checks.filter((check) => !check.ok).map(({ name }) => name);
    assert.deepEqual(failed, ['system calls', 'socket families']);
  });
});
