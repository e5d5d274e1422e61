import { sandboxConformance } from '../../../test/conformance/sandbox.ts';
import { startBench } from '../../../test/support/bubblewrap.ts';

sandboxConformance('bubblewrap', async () => {
  const bench = await startBench();
  return {
    provider: bench.provider,
    spec: (key, more) => bench.spec(key, more),
    killEverything: 'kill -9 -1',
    confines: true,
    close: () => bench[Symbol.asyncDispose](),
  };
});
