/** Characters that all providers take in the name of a tool. */
export const LONGEST_TOOL_NAME = 64;

/**
 * The name, made one that all providers take: ASCII letters, digits, `_` and `-`, the first a letter or `_` (Google).
 * One refuses the whole request for another, as a tool's and in the history. Names that differ may be the same then.
 */
export function plainToolName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, LONGEST_TOOL_NAME);
}
