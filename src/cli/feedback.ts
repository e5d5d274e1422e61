import type { FeedbackEntry } from '../feedback/feedback.ts';
import type { Storage } from '../storage/storage.ts';
import { parse, startOf } from './options.ts';
import type { Terminal } from './terminal.ts';

/** Entries held in memory at once. */
const PAGE = 500;

/** `feedback [--since 7d] [--json]`: what users think of their conversations, oldest first, a line each. */
export function parseFeedback(args: readonly string[]) {
  const { values } = parse(args, {
    since: { type: 'string' },
    json: { type: 'boolean', default: false },
  });
  const since = values.since === undefined ? undefined : startOf(values.since, new Date()).toISOString();
  const line = values.json ? (entry: FeedbackEntry) => JSON.stringify(entry) : readable;

  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    for (let after = 0; ;) {
      const page = await storage.read.feedback.list({
        limit: PAGE,
        after,
        ...(since !== undefined && { since }),
      });
      for (const entry of page) terminal.out(line(entry));
      const last = page.at(-1);
      if (!last) return;
      after = last.id;
    }
  };
}

function readable({ at, polarity, user, conversation, lastEventId, email }: FeedbackEntry): string {
  const columns = [
    at.slice(0, 19),
    (polarity ?? '-').padEnd(8),
    user.padEnd(12),
    conversation,
    `at event ${lastEventId}`,
  ];
  return [...columns, email].join('  ').trimEnd();
}
