import type { PushHead } from './head.ts';
import type { PushRules, RefChange } from './push.ts';

/** Refs that are not changed, with the reason, in a line; none when the push may go on. */
export type Reasons = ReadonlyMap<string, string>;

/** What the push may not do whatever it brings, and which of its updates have to be proven to be fast-forwards. */
export async function judge(
  { refs }: PushHead,
  rules: PushRules,
  conversation: number | null,
): Promise<{ refused: Reasons; toProve: RefChange[] }> {
  // The host makes what is new, and refuses when it is there already.
  const changes = rules.policy === 'allow' ? [] : refs.filter(({ from, to }) => from !== null || to === null);
  const made =
    changes.length === 0 || conversation === null
      ? new Set<string>()
      : await rules.made(
          conversation,
          changes.map(({ name }) => name),
        );
  const others = changes.filter(({ name }) => !made.has(name));
  const removed = others.filter(({ to }) => to === null);
  return {
    refused: new Map(
      removed.map(({ name }) => [name, 'this conversation did not make it, and may not delete it']),
    ),
    toProve: others.filter(({ to }) => to !== null),
  };
}

export function notFastForwards(updates: readonly RefChange[]): Reasons {
  return new Map(
    updates.map(({ name }) => [name, 'not a fast-forward, and this conversation did not make it']),
  );
}

/** What the agent is told in a sentence, beside the reason of each ref. */
export function refusalSentence(refused: Reasons): string {
  const names = [...refused.keys()].join(', ');
  return `${names}: what this conversation did not make may be added to, and not be rewritten or deleted. Nothing was pushed. Push to a branch of your own, or ask the user; who runs the service may allow it (PARLEY_PUSH_POLICY).`;
}
