import type { Row, Subject } from '../row.ts';
import { followRow } from '../support/follow.ts';

const GOAL_MS = 20;
const FOLLOWED = [
  { clients: 1, conversations: 1, perSecond: 20 },
  { clients: 100, conversations: 1, perSecond: 10 },
  { clients: 1_000, conversations: 1, perSecond: 5 },
  { clients: 100, conversations: 100, perSecond: 100 },
  { clients: 1_000, conversations: 100, perSecond: 100 },
];

/** Server-sent events. */
export const liveSse: Subject = {
  seconds: 180,
  measure: async (share) => {
    const rows: Row[] = [];
    for (const { clients, conversations, perSecond } of FOLLOWED) {
      if (clients * share < 1) continue;
      const following = {
        transport: 'sse' as const,
        clients: clients * share,
        conversations: Math.max(1, conversations * share),
        perSecond,
      };
      rows.push(await followRow(following, share, GOAL_MS));
    }
    return rows;
  },
};
