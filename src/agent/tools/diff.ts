const CONTEXT = 3;
const MAX_DIFF = 30_000;

/**
 * A unified diff of one hunk, from the first line that differs to the last, with three lines around it. For one
 * edit at one place that is the smallest one. Long ones are cut.
 */
export function unifiedDiff(path: string, before: string | null, after: string): string {
  const old = linesOf(before ?? '');
  const now = linesOf(after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  if (head === old.length && head === now.length) return '';

  const from = Math.max(0, head - CONTEXT);
  const oldTo = Math.min(old.length, old.length - tail + CONTEXT);
  const nowTo = Math.min(now.length, now.length - tail + CONTEXT);
  const lines = [
    `--- ${before === null ? '/dev/null' : path}`,
    `+++ ${path}`,
    `@@ -${range(from, oldTo - from)} +${range(from, nowTo - from)} @@`,
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail, oldTo).map((line) => ` ${line}`),
  ];
  const diff = lines.join('\n');
  return diff.length <= MAX_DIFF
    ? diff
    : `${diff.slice(0, MAX_DIFF)}\n[… the rest of the diff is left out …]`;
}

/** Each line without its line end; a last line without one is marked, as diff does it. */
function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  if (last !== '') lines.push(`${last}\n\\ No newline at end of file`);
  return lines;
}

function range(from: number, count: number): string {
  return `${count === 0 ? from : from + 1},${count}`;
}
