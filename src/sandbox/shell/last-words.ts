import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

const LAST_WORDS_MS = 200;

/**
 * Resolves with what all of `heard` resolve with, or after a moment: what is left in the background may never be silent.
 * When it was our own event loop that hung, what was said lies unread: it is read once before this gives up.
 */
export async function lastWords(heard: readonly Promise<void>[]): Promise<void> {
  const moment = async (): Promise<void> => {
    await delay(LAST_WORDS_MS, undefined, { ref: false });
    await nextTurn();
  };
  await Promise.race([Promise.all(heard), moment()]);
}
