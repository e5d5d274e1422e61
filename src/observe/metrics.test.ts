import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { Metrics } from './metrics.ts';

const LEVELS = { runsRunning: () => 3, queueDepth: () => 5, sandboxesOpen: () => 2, watchers: () => 7 };

describe('metrics', () => {
  test('are those that docs/metrics.md lists, each of the type it says', async () => {
    const metrics = new Metrics();
    metrics.watch(LEVELS);
    const page = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| (`.*`) \| (\w+) \|/gm)].flatMap(([, names = '', type]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${type}`),
    );
    const text = await metrics.text();
    const given = [...text.matchAll(/^# TYPE (\w+ \w+)$/gm)].map(([, line = '']) => line);
    assert.deepEqual(listed.toSorted(), given.toSorted());
    assert.equal(given.length, metrics.names.length);
  });

  test('count what they are told', async () => {
    const metrics = new Metrics();
    metrics.watch(LEVELS);
    metrics.request('GET', '/api/things/:id', 200, 0.02);
    metrics.runEnded('failed');
    const use = {
      promptTokens: 100,
      completionTokens: 10,
      cacheReadTokens: 50,
      cacheWriteTokens: 5,
      cost: 0.25,
    };
    metrics.step(use);
    metrics.step(use);
    metrics.sandboxStarted(0.04);
    metrics.sandboxFailed();
    metrics.committed({ writes: 3, seconds: 0.002, ok: true });
    metrics.committed({ writes: 1, seconds: 0.002, ok: false });
    const lines = new Set((await metrics.text()).split('\n'));
    for (const line of [
      'parley_http_request_duration_seconds_bucket{le="0.025",method="GET",route="/api/things/:id",status="200"} 1',
      'parley_runs_total{outcome="failed"} 1',
      'parley_runs_total{outcome="done"} 0',
      'parley_steps_total 2',
      'parley_tokens_total{kind="prompt"} 200',
      'parley_tokens_total{kind="cache_read"} 100',
      'parley_cost_usd_total 0.5',
      'parley_sandbox_start_seconds_count 1',
      'parley_sandbox_start_failures_total 1',
      'parley_database_commit_seconds_count 1',
      'parley_database_batch_writes_sum 3',
      'parley_database_commit_failures_total 1',
      'parley_runs_running 3',
      'parley_queue_depth 5',
      'parley_sandboxes_open 2',
      'parley_watchers 7',
    ]) {
      assert.ok(lines.has(line), line);
    }
  });
});
