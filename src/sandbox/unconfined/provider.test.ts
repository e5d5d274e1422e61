import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxConformance } from '../../../test/conformance/sandbox.ts';
import { openUnconfined } from './provider.ts';

sandboxConformance('unconfined', async () => {
  const top = await mkdtemp(join(tmpdir(), 'unconfined-'));
  const provider = await openUnconfined({
    runDir: join(top, 'run'),
    extraReadOnlyPaths: [],
    caFile: null,
    startGateway: async () => ({ close: async () => undefined }),
    gitConfig: () => '',
    log: () => undefined,
  });
  return {
    provider,
    spec: (key, more) => ({
      key,
      workspace: join(top, String(key), 'workspace'),
      home: join(top, String(key), 'home'),
      readOnlyWorkspace: false,
      workdir: '/workspace',
      env: {},
      identity: { name: 'Ann', email: 'ann@example.org' },
      git: null,
      limits: { memoryBytes: 1e9, processes: 100, cpus: 2, diskBytes: 1e9 },
      ...more,
    }),
    killEverything:
      'kill -9 $(grep -lzs "^PARLEY_SANDBOX_MARK=$PARLEY_SANDBOX_MARK\\$" /proc/[0-9]*/environ | tr -dc "0-9\\n")',
    confines: false,
    async close() {
      await provider.close();
      await rm(top, { recursive: true, force: true });
    },
  };
});
