import type { SandboxProvider } from './sandbox.ts';

/**
 * Stands for a provider that still tries what this host can do: what is asked of it waits for that.
 * @throws when its report is read before `opening` has resolved
 */
export function whileOpening(opening: Promise<SandboxProvider>): SandboxProvider {
  let opened: SandboxProvider | undefined;
  void opening.then((provider) => (opened = provider));
  return {
    get report() {
      if (!opened) throw new Error('what sandboxes can be had is not known yet');
      return opened.report;
    },
    open: async (spec, signal) => await (await opening).open(spec, signal),
    discard: async (spec) => await (await opening).discard(spec),
    close: async () => await (await opening).close(),
  };
}
