import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Secret } from '../../secrets/secret.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { isRoot, run, startBench, type Bench } from '../../../test/support/bubblewrap.ts';

describe('a hostile command', () => {
  let bench: Bench;
  before(async () => void (bench = await startBench()));
  after(() => bench[Symbol.asyncDispose]());

  for (const command of [
    'mount -t tmpfs none /tmp',
    'mount --bind /usr /workspace',
    'mount -o remount,rw /usr',
    'umount /proc',
    'unshare -U true',
    'unshare -m true',
    'unshare -n true',
    'nsenter -t 1 -m true',
    'mknod /tmp/d b 8 0',
    'chroot / true',
    'su -c true',
    'dmesg',
    'touch /usr/x',
    'touch /etc/x',
    'touch /x',
    'touch /dev/x',
    'touch /run/agent/lib/x',
    'rm -f /run/agent/lib/supervisor.sh',
    'chmod 777 /run/agent/lib',
    'touch /run/gw/x',
    'echo x > /etc/gitconfig',
    'ln /usr/bin/env /workspace/env',
    'chown 0:0 /workspace',
    'echo 1 > /proc/sys/kernel/sysrq',
    'echo c > /proc/sysrq-trigger',
    'renice -n -5 $$',
    'ip link add dummy0 type dummy',
    'kill -0 "$(cat /tmp/none)"',
  ]) {
    test(`is refused: ${command}`, async () => {
      const outcome = await bench.once(command);
      assert.equal(outcome.kind, 'exited');
      assert.notEqual(outcome.exitCode, 0, outcome.output);
    });
  }

  test('cannot change what the kernel starts on a crash', async () => {
    const found = await readFile('/proc/sys/kernel/core_pattern', 'utf8');
    const { exitCode } = await bench.once(
      '[ -w /proc/sys/kernel/core_pattern ] || echo "|/tmp/x" > /proc/sys/kernel/core_pattern',
    );
    assert.notEqual(exitCode, 0);
    assert.equal(await readFile('/proc/sys/kernel/core_pattern', 'utf8'), found);
  });

  test('gets no AF_VSOCK, packet or kernel-crypto socket', async () => {
    const script =
      'for (17, 38, 40) { print "open $_\\n" if socket(my $s, $_, 2, 0) or socket($s, $_, 1, 0) or socket($s, $_, 5, 0) or socket($s, $_, 3, 0) }';
    const { exitCode, output } = await bench.once(`perl -e '${script}'; echo tried`);
    assert.deepEqual([exitCode, output], [0, 'tried\n']);
  });

  test('sees no file of the host but programs', async () => {
    const secret = join(bench.data, 'host-secret');
    await mkdir(bench.data, { recursive: true });
    await writeFile(secret, 'the host’s own', { mode: 0o644 });
    const paths = [
      secret,
      '/etc/shadow',
      '/root',
      '/home/*/.ssh',
      '/etc/ssl/private',
      '/sys',
      '/boot',
      '/var/lib',
      '/etc/npmrc',
      '/proc/1/root/etc/shadow',
      `/proc/1/root${secret}`,
      `/proc/1/cwd${secret}`,
    ];
    const { output } = await bench.once(
      `for p in ${paths.join(' ')}; do [ -e "$p" ] && echo "$p"; done; true`,
    );
    assert.equal(output, '');
  });

  test('sees no other conversation: not its files, its processes or its sockets', async () => {
    await using other = await disposable(bench, 2);
    await run(other.sandbox, 'echo theirs > /workspace/theirs; sleep 60 & disown');
    const { workspace } = bench.spec(2);
    const look = `cat ${workspace}/theirs; cat /proc/1/root${workspace}/theirs; find / -name theirs -not -path "/proc/*" 2>/dev/null; pgrep sleep; ls ${bench.runDir}`;
    const { output } = await bench.once(`{ ${look}; } 2>/dev/null`);
    assert.equal(output, '');
  });

  test('finds no secret and no path of the host where its first process was started', async () => {
    const env = { GIVEN: new Secret('sesame-open-now') };
    const { output } = await bench.once(
      'echo "[$GIVEN]"; cat /proc/1/environ /proc/1/cmdline | tr "\\0" "\\n"',
      { env },
    );
    const [given, ...start] = output.split('\n');
    assert.equal(given, '[sesame-open-now]');
    for (const text of ['sesame', bench.data, bench.runDir, process.env['HOME'] ?? '/root']) {
      assert.ok(!start.join('\n').includes(text), `${text} in ${start.join(' ')}`);
    }
    assert.match(start.join(' '), /bwrap --args 3/);
  });

  test('finds nothing of the service’s environment', async () => {
    const { output } = await bench.once('cat /proc/*/environ | tr "\\0" "\\n" | cut -d= -f1 | sort -u');
    const names = new Set(output.split('\n'));
    assert.ok(names.has('http_proxy'));
    assert.deepEqual(
      [...names].filter((name) => /^(npm_|NODE_TEST|SSH_|PARLEY|INVOCATION)/.test(name)),
      [],
    );
  });

  test('has no descriptor of the service', async () => {
    const sandbox = await bench.open(1);
    const look = `perl -e 'for (glob "/proc/[0-9]*/fd/*") { my $to = readlink; print "$to\\n" if defined $to }'`;
    // What was handed down stays open, but a program that is just starting has files of its own for a moment.
    await eventually('a look that finds nothing foreign', async () => {
      const { output } = await run(sandbox, look);
      const files = output.split('\n').filter((to) => to.startsWith('/'));
      assert.ok(files.includes('/dev/null'), output);
      return files.every((to) => /^\/(dev\/null$|run\/agent\/|proc\/|workspace)/.test(to));
    });
    await sandbox.close();
  });

  test('that kills all it can reach ends its sandbox alone, and the next one goes on', async () => {
    const outcome = await bench.once('echo kept > file; kill -9 -1');
    assert.equal(outcome.kind, 'lost');
    assert.match(outcome.reason ?? '', /killed from inside|its shell/);
    assert.equal((await bench.once('cat file')).output, 'kept\n');
  });

  test('that freezes the first process cannot keep its sandbox from ending', async () => {
    const sandbox = await bench.open(1);
    const number = process.arch === 'x64' ? 101 : 117;
    const freeze = `perl -e 'syscall(${number}, 16, 1, 0, 0) == 0 or die "$!"; sleep 600'`;
    const frozen = await run(
      sandbox,
      // It stops a moment after it was told to.
      `setsid ${freeze} & until grep "tracing stop" /proc/1/status; do sleep 0.02; done`,
    );
    assert.match(frozen.output, /^State:\s+t/);
    await sandbox.close();
    assert.equal((await bench.once('echo again')).output, 'again\n');
  });

  test('that forks without end, in sessions of its own, ends with its sandbox and leaves the host free', async () => {
    const sandbox = await bench.open(1);
    const bomb = 'f() { setsid bash -c "$(declare -f f); f" & f & }; f; sleep 1; echo over';
    await run(sandbox, bomb, 3000);
    await sandbox.close();
    assert.equal((await bench.once('echo again')).output, 'again\n');
  });

  test('is another user of the host than the service, and than other conversations’ commands', async () => {
    const mapping = (await bench.once('touch mine; echo done')).output;
    assert.equal(mapping, 'done\n');
    const { uid } = await stat(join(bench.spec(1).workspace, 'mine'));
    if (isRoot) {
      const other = await disposable(bench, 2);
      await run(other.sandbox, 'touch mine');
      await other.sandbox.close();
      const theirs = await stat(join(bench.spec(2).workspace, 'mine'));
      assert.notEqual(uid, 0);
      assert.notEqual(uid, theirs.uid);
    } else {
      assert.equal(uid, process.getuid?.());
      assert.match(
        bench.provider.report.checks.find(({ name }) => name === 'own uid')?.detail ?? '',
        /service’s own/,
      );
    }
  });
});

async function disposable(bench: Bench, key: number) {
  const sandbox = await bench.open(key);
  return { sandbox, [Symbol.asyncDispose]: () => sandbox.close() };
}
