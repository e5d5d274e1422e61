import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttp } from '../../../test/support/http.ts';
import type { SandboxReport } from '../../sandbox/sandbox.ts';
import { type HealthOptions, healthRoutes } from './health.ts';

const GOOD: SandboxReport = {
  kind: 'bubblewrap',
  ok: true,
  reason: '',
  checks: [{ name: 'host ports', ok: true, detail: 'refused' }],
  limits: { memory: 'cgroup v2', processes: 'rlimit', cpu: 'none', disk: 'watchdog' },
};

const start = (options: Partial<HealthOptions> = {}) =>
  startHttp((_storage, { dataDir }) => [
    healthRoutes({
      dataDir,
      sandbox: () => Promise.resolve(GOOD),
      freeSpace: () => Promise.resolve({ ok: true, reason: '', free: 2, wanted: 1 }),
      storageWorks: () => Promise.resolve(),
      ...options,
    }),
  ]);

test('probes need no key and get what clients of V0 get', async () => {
  const http = await start();
  try {
    assert.equal((await http.request('GET', '/alive', { key: null })).text, '{"status":"ok"}');
    const health = await http.request('GET', '/health', { key: null });
    assert.deepEqual(
      [health.text, health.headers.get('content-type')?.split(';')[0]],
      ['"OK"', 'application/json'],
    );
    assert.equal((await http.request('HEAD', '/alive', { key: null })).status, 200);
  } finally {
    await http.close();
  }
});

test('ready is who can store and run; else 503 says what is missing', async () => {
  const good = await start();
  const bad = await start({
    sandbox: () => Promise.resolve({ ...GOOD, ok: false, reason: 'bubblewrap is not installed' }),
    freeSpace: () => Promise.resolve({ ok: false, reason: 'The disk is almost full.', free: 1, wanted: 2 }),
    storageWorks: () => Promise.reject(new Error('disk full at /secret/place')),
  });
  try {
    assert.equal((await good.request('GET', '/ready', { key: null })).status, 200);
    const answer = await bad.request('GET', '/ready', { key: null });
    assert.equal(answer.status, 503);
    assert.match(answer.text, /bubblewrap is not installed/);
    assert.match(answer.text, /disk is almost full/);
    assert.match(answer.text, /database cannot be written/);
    assert.ok(!answer.text.includes('/secret/place'));
  } finally {
    await good.close();
    await bad.close();
  }
});

test('asking often does not write often', async () => {
  let writes = 0;
  const http = await start({
    storageWorks: () => {
      writes += 1;
      return Promise.resolve();
    },
  });
  try {
    await Promise.all(Array.from({ length: 20 }, () => http.request('GET', '/ready', { key: null })));
    assert.ok(writes < 20, `${writes} writes`);
  } finally {
    await http.close();
  }
});

test('server_info gives the release, the time, the resources and the sandbox', async () => {
  const http = await start();
  try {
    const info = (await http.request('GET', '/server_info', { key: null })).json as Record<string, unknown>;
    assert.match(String(info['version']), /^\d+\.\d+\.\d+/);
    assert.deepEqual(Object.keys(info).sort(), ['idle_time', 'resources', 'sandbox', 'uptime', 'version']);
    assert.deepEqual(info['sandbox'], GOOD);
  } finally {
    await http.close();
  }
});
