import type { Microagent } from './microagent.ts';

/** Characters of a message that are looked through: the rest is what was pasted. */
const LOOKED_THROUGH = 20_000;

export interface Triggered {
  microagent: Microagent;
  /** The word that brought it up. */
  trigger: string;
}

/** The microagents that a message brings up. A trigger counts at the beginning of a word, whatever its case: `test` brings up "Tests", and not "latest". */
export function triggeredBy(message: string, microagents: readonly Microagent[]): Triggered[] {
  const text = message.slice(0, LOOKED_THROUGH).toLowerCase();
  return microagents.flatMap((microagent) => {
    if (microagent.type !== 'knowledge') return [];
    const trigger = microagent.triggers.find((word) => beginsAWord(text, word.toLowerCase()));
    return trigger === undefined ? [] : [{ microagent, trigger }];
  });
}

function beginsAWord(text: string, word: string): boolean {
  const bounded = /^[a-z0-9_]/.test(word);
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!bounded || at === 0 || !/[a-z0-9_]/.test(text[at - 1] ?? '')) return true;
  }
  return false;
}
