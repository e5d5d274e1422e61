/**
 * Runs `work` as one durable transaction over the stores it needs: resolved means on disk, rejected means nothing
 * of it is stored. `work` awaits nothing but its stores: other people's writes share the commit and wait for it.
 */
export type Transact<Stores> = <T>(work: (stores: Stores) => Promise<T>) => Promise<T>;
