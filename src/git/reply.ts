/** The head of an answer and what it says, as far as it was read. */
export interface Reply {
  status: number;
  /** Names in small letters. */
  headers: ReadonlyMap<string, string>;
  text: string;
}

/** What a reply says in JSON; undefined when it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
