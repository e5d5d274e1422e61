import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ServiceError } from '../errors.ts';
import { benchOptions, never } from '../../test/support/bubblewrap.ts';
import type { SandboxSpec } from './sandbox.ts';
import { selectSandbox } from './select.ts';

let top: string;
let spec: SandboxSpec;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'parley-select-'));
  await chmod(top, 0o711);
  spec = {
    key: 1,
    workspace: join(top, 'w'),
    home: join(top, 'h'),
    drafts: join(top, 'd'),
    readOnlyWorkspace: false,
    workdir: '/workspace',
    env: {},
    identity: { name: 'Ann', email: 'ann@example.org' },
    git: null,
    limits: { memoryBytes: 2 ** 28, processes: 64, cpus: 1, diskBytes: 2 ** 26 },
  };
});
afterEach(() => rm(top, { recursive: true, force: true }));

test('`auto` is bubblewrap, and says which', async () => {
  const provider = await selectSandbox('auto', benchOptions(join(top, 'run')));
  assert.equal(provider.report.reason, '');
  assert.equal(provider.report.kind, 'bubblewrap');
  await provider.close();
});

test('a umask that closes everything to others closes nothing that sandboxes need', async () => {
  const before = process.umask(0o077);
  try {
    const provider = await selectSandbox('auto', benchOptions(join(top, 'run')));
    await provider.close();
    assert.equal(provider.report.reason, '');
  } finally {
    process.umask(before);
  }
});

test('`unconfined` is had by its name alone', async () => {
  const provider = await selectSandbox('unconfined', benchOptions(join(top, 'run')));
  assert.equal(provider.report.kind, 'unconfined');
  await provider.close();
});

test('`none` runs no command and says why, but still removes what a conversation has left', async () => {
  const provider = await selectSandbox('none', benchOptions(join(top, 'run')));
  const { kind, ok, reason } = provider.report;
  assert.deepEqual([kind, ok], ['none', false]);
  assert.match(reason, /PARLEY_SANDBOX/);
  await assert.rejects(provider.open(spec, never), (error: unknown) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'sandbox_unavailable');
    assert.equal(error.message, reason);
    return true;
  });
  await mkdir(join(spec.workspace, 'closed'), { recursive: true });
  await writeFile(join(spec.workspace, 'closed', 'file'), '');
  await chmod(join(spec.workspace, 'closed'), 0);
  await provider.discard(spec);
  await assert.rejects(stat(spec.workspace), { code: 'ENOENT' });
});

test('where bubblewrap cannot work, `auto` does not fall back to running commands unconfined', async () => {
  await writeFile(join(top, 'file'), '');
  const provider = await selectSandbox('auto', benchOptions(join(top, 'file', 'run')));
  assert.deepEqual([provider.report.kind, provider.report.ok], ['bubblewrap', false]);
  await assert.rejects(provider.open(spec, never), { code: 'sandbox_unavailable' });
});
