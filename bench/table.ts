import type { Row, Share } from './row.ts';

/** A line as it is kept, with what it is of. */
export interface Measured extends Row {
  subject: string;
  share: Share;
}

/** As Markdown. A line's tenth stands under it. */
export function tableOf(rows: readonly Measured[]): string {
  const lines = rows.map(({ what, share, measured, limit = '', goal }) => [
    share === 1 ? what : `1/10: ${what}`,
    measured,
    limit,
    goal?.text ?? '',
    verdict(goal),
  ]);
  return [
    ['what', 'measured', 'limit, measured beside it', 'to reach', ''],
    ['---', '---', '---', '---', '---'],
    ...lines,
  ]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

function verdict(goal: Row['goal']): string {
  if (!goal) return '';
  return goal.reached ? 'reached' : '**not reached**';
}
