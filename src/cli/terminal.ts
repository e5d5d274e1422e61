/** Where a command says things, and asks nothing. */
export interface Terminal {
  /** The result, on standard output: a script reads it. */
  out(line: string): void;
  /** Remarks, on standard error: a person reads them. */
  note(line: string): void;
}

/** Thrown for a command line that makes no sense; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Columns as wide as their widest entry. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((entry, column) => entry.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
