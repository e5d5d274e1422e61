import { derivedTitle, titleOf } from '../agent/opening.ts';
import type { ConversationRequest } from '../conversations/request.ts';
import type { Stand, StretchOptions } from './stand.ts';

/**
 * Gives a conversation its title, while it has the one that was made from its first message: a name that its user gave
 * stays, also when it is given meanwhile. Clients wait for the word that it is named, so they hear it too where the
 * title stays what it was. Null where there is nothing to name any more.
 */
export function namerOf(
  options: StretchOptions,
  { row, redactor: { redact } }: Stand,
  request: ConversationRequest,
): ((title: string) => Promise<void>) | null {
  const derived = derivedTitle(row.id, request);
  if (derived === null || row.title !== redact(derived)) return null;
  return async (given) => {
    const title = titleOf(redact(given)) ?? row.title;
    const stands = await options.transact(async ({ conversations }) => {
      if ((await conversations.get(row.key))?.title !== row.title) return false;
      if (title !== row.title) await conversations.change(row.key, { title });
      return true;
    });
    if (!stands) return;
    options.notify(row.key, {
      status_update: true,
      type: 'info',
      message: row.id,
      conversation_title: title,
    });
  };
}
