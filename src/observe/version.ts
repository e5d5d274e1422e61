import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The release (semver), as package.json has it: one folder up from `src` as from `dist`. */
export const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));
