import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainStart } from './start-problem.ts';

test('a host that refuses namespaces is told what to change', async () => {
  for (const said of [
    'bwrap: No permissions to create a new namespace, likely because the kernel does not allow it',
    'bwrap: setting up uid map: Permission denied',
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
  ]) {
    const reason = await explainStart(`bash: a warning\n${said}`);
    assert.ok(reason.includes(said), reason);
    assert.match(reason, /sysctl -w|--security-opt/);
  }
});

test('who may not mount what is closed to the sandboxes is told to open it', async () => {
  const reason = await explainStart('unshare: unshare failed: Operation not permitted');
  assert.match(reason, /data directory.*CAP_SYS_ADMIN.*chmod o\+x/);
});

test('any other problem is told as it was said, without advice that would not help', async () => {
  const reason = await explainStart('bash: line 6: /sys/fs/cgroup/x/cgroup.procs: Permission denied');
  assert.equal(
    reason,
    'A sandbox did not start: bash: line 6: /sys/fs/cgroup/x/cgroup.procs: Permission denied.',
  );
  assert.match(await explainStart(''), /ended without a word/);
});
