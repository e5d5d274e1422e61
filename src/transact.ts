/**
 * Runs `work` as one durable transaction over the stores it needs: resolved means on disk, rejected means nothing
 * of it is stored. `work` awaits nothing but its stores: other people's writes share the commit and wait for it.
 *
 * `early` is told what `work` gave before that is on disk, for what does no harm should it never be: a request that is
 * sent while the disk syncs. What it writes at once is in the same commit.
 */
export type Transact<Stores> = <T>(
  work: (stores: Stores) => Promise<T>,
  early?: (result: T) => void,
) => Promise<T>;
