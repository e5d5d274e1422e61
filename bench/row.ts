/** One line of the table: what was measured, beside what it is held to. */
export interface Row {
  name: string;
  measured: string;
  /** What the same machine does at best in the same run, where there is such a thing. */
  limit: string;
  result: string;
  goal: string;
  reached: boolean;
  /** Every number behind it. */
  runs: unknown;
}
