import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxNotice } from './notice.ts';
import { unavailable } from './unavailable.ts';
import { unconfinedReport } from './unconfined/report.ts';

test('a start without sandboxes is told with why', () => {
  const { level, text } = sandboxNotice(unavailable('bubblewrap', 'bwrap is not installed.').report);
  assert.equal(level, 'warn');
  assert.equal(text, 'Conversations have no sandbox. bwrap is not installed.');
});

test('a start with unconfined commands is told with all that nothing guards', () => {
  const { level, text } = sandboxNotice(unconfinedReport());
  assert.equal(level, 'warn');
  for (const open of ['guarded by nothing', 'every file', 'every address', 'the token', 'not bounded']) {
    assert.ok(text.includes(open), text);
  }
});

test('a start with sandboxes is told with what bounds them', () => {
  const limits = { memory: 'cgroup v2', processes: 'cgroup v2', cpu: 'none', disk: 'watchdog' };
  const { level, text } = sandboxNotice({ kind: 'bubblewrap', ok: true, reason: '', checks: [], limits });
  assert.equal(level, 'info');
  assert.match(text, /of bubblewrap, bounded in memory by cgroup v2, .*cpu by none/);
});
