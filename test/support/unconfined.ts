import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxProvider, SandboxSpec } from '../../src/sandbox/sandbox.ts';
import { openUnconfined } from '../../src/sandbox/unconfined/provider.ts';
import type { UnconfinedOptions } from '../../src/sandbox/unconfined/provider.ts';

export interface Bench {
  provider: SandboxProvider;
  top: string;
  spec(key: number, more?: Partial<SandboxSpec>): SandboxSpec;
  close(): Promise<void>;
}

/** A provider on directories of its own, with a gateway that is not there unless `more` brings one. */
export async function startBench(more: Partial<UnconfinedOptions> = {}): Promise<Bench> {
  const top = await mkdtemp(join(tmpdir(), 'unconfined-'));
  const provider = await openUnconfined({
    runDir: join(top, 'run'),
    workspaces: null,
    extraReadOnlyPaths: [],
    caFile: null,
    startGateway: async () => ({ close: async () => undefined }),
    gitConfig: () => '',
    log: () => undefined,
    ...more,
  });
  return {
    provider,
    top,
    spec: (key, changed) => ({
      key,
      workspace: join(top, String(key), 'workspace'),
      home: join(top, String(key), 'home'),
      drafts: join(top, 'drafts'),
      readOnlyWorkspace: false,
      workdir: '/workspace',
      env: {},
      identity: { name: 'Ann', email: 'ann@example.org' },
      git: null,
      limits: { memoryBytes: 1e9, processes: 100, cpus: 2, diskBytes: 1e9 },
      ...changed,
    }),
    async close() {
      await provider.close();
      await rm(top, { recursive: true, force: true });
    },
  };
}
