import { derivedTitle, titleOf } from '../agent/opening.ts';
import type { ConversationRequest } from '../conversations/request.ts';
import type { Stand, StretchOptions } from './stand.ts';

/**
 * Gives a conversation its title, while it has the one that was made from its first message: a name that its user gave
 * stays, also when it is given meanwhile. Null where there is nothing to name any more.
 */
export function namerOf(
  options: StretchOptions,
  { row, redactor: { redact } }: Stand,
  request: ConversationRequest,
): ((title: string) => Promise<void>) | null {
  const derived = derivedTitle(row.id, request);
  if (derived === null || row.title !== redact(derived)) return null;
  return async (given) => {
    const title = titleOf(redact(given));
    if (title === null || title === row.title) return;
    const named = await options.transact(async ({ conversations }) => {
      if ((await conversations.get(row.key))?.title !== row.title) return false;
      await conversations.change(row.key, { title });
      return true;
    });
    if (!named) return;
    options.notify(row.key, {
      status_update: true,
      type: 'info',
      message: row.id,
      conversation_title: title,
    });
  };
}
