import type { Subject } from '../row.ts';
import { followRow } from '../support/follow.ts';

const GOAL_MS = 25;

/** Socket.IO. */
export const liveSockets: Subject = {
  seconds: 120,
  measure: async (share) => {
    const following = { clients: 1_000 * share, conversations: 100 * share, perSecond: 100 };
    return [await followRow({ transport: 'socketio', ...following }, share, GOAL_MS)];
  },
};
