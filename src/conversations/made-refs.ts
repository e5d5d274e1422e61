/** The refs (`refs/heads/fix`) that conversations have made at their repository, and not removed. */
export interface MadeRefStore {
  /** Which of these the conversation has made. */
  among(conversation: number, refs: readonly string[]): Promise<string[]>;
  /** Notes what it has made and removed there: at most 1,000 are kept. Nothing for a removed conversation. */
  note(conversation: number, refs: { made: readonly string[]; removed: readonly string[] }): Promise<void>;
}
