/** A file that differs from where the conversation's branch began, by V0's letters. */
export interface Change {
  status: 'M' | 'A' | 'D' | 'R' | 'U';
  /** In the repository. */
  path: string;
}

/** `git diff --name-status -z`, sorted by path. */
export function parseChanges(output: Buffer): Change[] {
  const parts = output.toString('utf8').split('\0');
  const changes: Change[] = [];
  for (let n = 0; n + 1 < parts.length; n += 2) {
    const [status = '', path = ''] = parts.slice(n, n + 2);
    if (path !== '') changes.push({ status: letterOf(status), path });
  }
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function letterOf(status: string): Change['status'] {
  switch (status.charAt(0)) {
    case 'A':
    case 'C':
      return 'A';
    case 'D':
      return 'D';
    case 'R':
      return 'R';
    case 'U':
      return 'U';
    default:
      // Also a change of kind: a file that became a link.
      return 'M';
  }
}
