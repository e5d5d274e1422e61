import { openBubblewrap } from './bubblewrap/provider.ts';
import type { BubblewrapOptions } from './bubblewrap/options.ts';
import type { SandboxProvider } from './sandbox.ts';
import { unavailable } from './unavailable.ts';
import { openUnconfined } from './unconfined/provider.ts';

/** `auto`: the kind that confines and works here, else none. `unconfined` must be asked for by name. */
export type SandboxKind = 'auto' | 'bubblewrap' | 'unconfined' | 'none';

/**
 * The provider for this host. Never rejects: where none can be had, or none is wanted, its report says why and its
 * `open` throws `sandbox_unavailable`.
 */
export async function selectSandbox(kind: SandboxKind, options: BubblewrapOptions): Promise<SandboxProvider> {
  if (kind === 'none') {
    const reason =
      'PARLEY_SANDBOX is `none`, so no command is run: set it to `auto` to have them run in sandboxes.';
    return unavailable('none', reason);
  }
  if (kind === 'unconfined') return await openUnconfined(options);
  // As root, sandboxes are other users and read what is made for them; what is nobody's business has a mode of its own.
  process.umask(0o022);
  return await openBubblewrap(options);
}
