/** Who asks. Every call of a service takes one, and every row has its user. */
export interface Principal {
  userId: string;
  userName: string;
  /** The key that was shown, or the one a browser session was opened with. */
  keyId: string;
}
