import { ServiceError } from '../errors.ts';
import { removeTree } from './bubblewrap/directories.ts';
import type { SandboxProvider, SandboxReport } from './sandbox.ts';

/** Where no sandbox can be had: a provider that opens none and says why, in one sentence a person can act on. */
export function unavailable(kind: SandboxReport['kind'], reason: string): SandboxProvider {
  const none = { memory: 'none', processes: 'none', cpu: 'none', disk: 'none' };
  return {
    report: { kind, ok: false, reason, checks: [], limits: none },
    async open() {
      throw new ServiceError('sandbox_unavailable', reason);
    },
    async discard({ workspace, home }) {
      await removeTree(workspace);
      await removeTree(home);
    },
    async close() {},
  };
}
