import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** As `script/server` starts the service: its sources are stripped and compiled by the first start, for all that follow. */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'compiled') };
