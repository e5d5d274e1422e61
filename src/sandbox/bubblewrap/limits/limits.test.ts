import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { processesWith, run, startBench, type Bench } from '../../../../test/support/bubblewrap.ts';
import { ceilingOver } from './disk.ts';

const MIB = 1024 ** 2;
const LIMITS = { memoryBytes: 256 * MIB, processes: 64, cpus: 2, diskBytes: 32 * MIB };

describe('the limits of a sandbox', () => {
  let bench: Bench;
  before(async () => void (bench = await startBench()));
  after(() => bench[Symbol.asyncDispose]());

  test('end fifty processes that allocate together, and say why', async () => {
    const sandbox = await bench.open(1);
    const hoard = `perl -e 'push @x, $_ . ("x" x 100000) and select(undef, undef, undef, 0.005) for 1 .. 100000'`;
    const outcome = await run(sandbox, `for i in {1..50}; do ${hoard} & done; wait`);
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /memory.*256 MiB/);
    assert.deepEqual(await processesWith(bench.runDir), []);
    assert.equal((await bench.once('echo again')).output, 'again\n');
  });

  test('count what is in /tmp and /dev/shm as bounded', async () => {
    const { output } = await bench.once(
      'head -c 300M /dev/zero > /dev/shm/a; stat -c %s /dev/shm/a; df -B1 --output=size /tmp | tail -1',
    );
    const [shm, temporary] = output.trim().split('\n').slice(-2).map(Number);
    assert.ok((shm ?? Infinity) <= 64 * MIB);
    assert.equal(temporary, 64 * MIB);
  });

  test('stop a sandbox from making more processes, and its next command works', async () => {
    const sandbox = await bench.open(1);
    const { output } = await run(
      sandbox,
      `perl -e 'for (1 .. 500) { my $p = fork; last unless defined $p; if (!$p) { sleep 60; exit } push @p, $p } print scalar @p; kill 9, @p; 1 while wait != -1'`,
    );
    assert.ok(Number(output) > 10 && Number(output) < LIMITS.processes, output);
    assert.equal((await run(sandbox, 'echo still')).output, 'still\n');
    await sandbox.close();
  });

  test('end what fills the disk with many files, and leave room to clean up', async () => {
    const sandbox = await bench.open(2, { limits: LIMITS });
    const outcome = await run(
      sandbox,
      'for i in {1..10000}; do head -c 4M /dev/zero > big.$i; sleep 0.02; done',
    );
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /disk.*32 MiB/);
    const next = await bench.open(2, { limits: LIMITS });
    assert.equal((await run(next, 'rm big.*; sleep 0.5; ls')).output, '');
    await next.close();
  });

  test('give room to clean up once, not with every start', () => {
    assert.equal(ceilingOver(32 * MIB, 32 * MIB), 32 * MIB);
    assert.equal(ceilingOver(32 * MIB, 33 * MIB), 40 * MIB);
    assert.equal(ceilingOver(32 * MIB, 39 * MIB), 40 * MIB);
    assert.equal(ceilingOver(32 * MIB, 100 * MIB), 100.25 * MIB);
  });

  test('end what fills the disk with files that were removed while open', async () => {
    const sandbox = await bench.open(3, { limits: LIMITS });
    const outcome = await run(
      sandbox,
      `perl -e 'for (1 .. 1000) { open($f[$_], ">", "f"); unlink "f"; print {$f[$_]} "x" x 4000000; select(undef, undef, undef, 0.02) } sleep 600'`,
    );
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /disk/);
  });

  test('count what a command hides in a directory that it has closed', async () => {
    const outcome = await bench.once(
      'mkdir hidden; for i in {1..10000}; do chmod 700 hidden; head -c 4M /dev/zero > hidden/$i; chmod 0 hidden; sleep 0.02; done',
      { key: 5, limits: LIMITS, workspace: bench.spec(5).workspace, home: bench.spec(5).home },
    );
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /disk/);
    // What is closed, an ordinary user's `rm` cannot empty.
    await bench.provider.discard(bench.spec(5));
  });

  for (const [what, fill] of [
    ['files', 'for i in {1..1000}; do head -c 4M /dev/zero > big.$i; sleep 0.02; done; sleep 600'],
    ['empty files', `perl -e 'for (1 .. 400000) { open(my $f, ">", $_) }'; sleep 600`],
  ] as const) {
    test(`end what fills the directory that the shell shares with the service by ${what}`, async () => {
      const sandbox = await bench.open(7, { limits: { ...LIMITS, diskBytes: 8 * 1024 ** 3 } });
      const outcome = await run(sandbox, `cd /run/agent/x && ${fill}`);
      assert.equal(outcome.kind, 'lost');
      assert.match(outcome.reason ?? '', /\/run\/agent takes .* more than the 256 MiB/);
    });
  }

  test('count empty files too, as the host has only so many', async () => {
    const sandbox = await bench.open(6, { limits: LIMITS });
    const outcome = await run(
      sandbox,
      `perl -e 'for (1 .. 200000) { open(my $f, ">", $_); select(undef, undef, undef, 0.02) unless $_ % 500 }'; sleep 600`,
    );
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /disk/);
  });

  test('cut one file off at the disk’s limit, also when it is reserved without writing', async () => {
    const { output } = await bench.once(
      // Far from full, or whoever watches the disk could end all of it before it is looked at.
      `dd if=/dev/zero of=a bs=1M seek=30 count=9; stat -c %s a; fallocate -l 100M b; fallocate -n -l 100M c; du -k . | cut -f1`,
      { key: 4, limits: LIMITS, workspace: bench.spec(4).workspace, home: bench.spec(4).home },
    );
    const numbers = output
      .split('\n')
      .filter((line) => /^\d+$/.test(line))
      .map(Number);
    assert.equal(numbers[0], LIMITS.diskBytes);
    assert.ok((numbers[1] ?? Infinity) < LIMITS.diskBytes / 1024, output);
  });

  test('are named in the report with the means that hold them', () => {
    const { limits } = bench.provider.report;
    assert.match(limits.memory, /^(cgroup v2|cgroup v1|watchdog)$/);
    assert.match(limits.processes, /^(cgroup v2|cgroup v1|rlimit)$/);
    assert.match(limits.disk, /watchdog/);
  });
});
