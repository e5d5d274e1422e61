/** One line of the table: what was measured, beside what it is held to. */
export interface Row {
  what: string;
  measured: string;
  /** What the same machine does at best in the same run, where there is such a thing. */
  limit?: string;
  /** What it is held to; a line without one is reported only. */
  goal?: Goal;
  /** Every number behind it. */
  runs?: unknown;
}

interface Goal {
  text: string;
  reached: boolean;
}

/** All of a subject's size, or a tenth of it, which shows how the cost grows. */
export type Share = 1 | 0.1;

/** What is measured together. */
export interface Subject {
  /** Seconds either size may take. Past them it is ended, with all that it started. */
  seconds: number;
  /** Its load goes on for as many minutes as are asked for, which come on top. */
  isLoadedForMinutes?: true;
  measure(share: Share, minutes: number): Promise<Row[]>;
}

/** Held to `text`, a condition on the figure that `reached` says the outcome of. A tenth is not held to anything. */
export function heldTo(share: Share, text: string, reached: boolean): { goal?: Goal } {
  return share === 1 ? { goal: { text, reached } } : {};
}
