import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a program's first start compiles is kept for all that follow. */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'compiled') };
