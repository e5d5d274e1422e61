import { fileURLToPath } from 'node:url';
import { type Parley, startParley } from '../../test/support/parley.ts';
import { COMPILED } from './compiled.ts';

const BUNDLE = fileURLToPath(new URL('../../build/serve/main.js', import.meta.url));

/** The service as `script/server` starts it: bundled, and compiled by the first start. */
export async function startServed(env: Record<string, string> = {}): Promise<Parley> {
  return await startParley({ ...COMPILED, ...env }, BUNDLE);
}
