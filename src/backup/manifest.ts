import { createHash, type Hash } from 'node:crypto';
import { z } from 'zod';
import { encodeHeader, type TarEntry } from './tar-format.ts';

/** The first entry of a backup: what it is, so that who cannot use it says so before anything is written. */
export const OPENING_FILE = 'parley-backup.json';
/** The last entry: what all others were. Its absence means that the backup is not whole. */
export const CLOSING_FILE = 'parley-backup-end.json';

export const FORMAT = 1;

const opening = z.object({
  format: z.literal('parley-backup'),
  version: z.int(),
  /** The release that made it. */
  parley: z.string(),
  createdAt: z.string(),
  /** Those the database in it has seen. */
  migrations: z.array(z.string()),
  /** Where the key of the stored secrets is. */
  key: z.enum(['included', 'left out', 'PARLEY_SECRET_KEY']),
});
export type Opening = z.output<typeof opening>;

const closing = z.object({ entries: z.int(), sha256: z.string() });
export type Closing = z.output<typeof closing>;

/** @throws when it is not the opening of a backup */
export function parseOpening(text: Buffer): Opening {
  return opening.parse(JSON.parse(text.toString('utf8')));
}

export function parseClosing(text: Buffer): Closing {
  return closing.parse(JSON.parse(text.toString('utf8')));
}

/** The sum over all entries but the last: each header and each content, in their order. */
export class Sum {
  readonly #hash: Hash = createHash('sha256');
  #entries = 0;

  /** Gives the entry's header, as it is written. */
  header(entry: TarEntry): Buffer {
    const header = encodeHeader(entry);
    this.#hash.update(header);
    this.#entries += 1;
    return header;
  }

  content(bytes: Buffer): void {
    this.#hash.update(bytes);
  }

  /** Can be asked once. */
  end(): Closing {
    return { entries: this.#entries, sha256: this.#hash.digest('hex') };
  }
}
