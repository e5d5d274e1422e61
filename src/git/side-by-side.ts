import { type Answer, ok } from './answer.ts';

/** How many requests one question may have under way at a host. */
const AT_ONCE = 6;

/**
 * Asks for each of a list, a few at once, and gives the answers in the list's order. What is not found is left out; any
 * other failure is the answer to all.
 */
export async function askEach<T, U>(
  list: readonly T[],
  ask: (one: T) => Promise<Answer<U>>,
): Promise<Answer<U[]>> {
  const found: U[] = [];
  for (let start = 0; start < list.length; start += AT_ONCE) {
    const answers = await Promise.all(list.slice(start, start + AT_ONCE).map(ask));
    for (const answer of answers) {
      if (answer.kind === 'ok') found.push(answer.value);
      else if (answer.kind !== 'not_found') return answer;
    }
  }
  return ok(found);
}
