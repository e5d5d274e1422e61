/** The ids of conversations that were created with an `Idempotency-Key`, by that and their user. */
export interface IdempotencyStore {
  /** The one that the key created since `after`, if any. */
  find(userId: string, idempotencyKey: string, after: string): Promise<string | undefined>;
  save(userId: string, idempotencyKey: string, id: string, at: string): Promise<void>;
}
