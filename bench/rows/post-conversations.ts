import { mkdir } from 'node:fs/promises';
import { createKey, ensureUser } from '../../src/auth/keys.ts';
import { openStorage } from '../../src/storage/storage.ts';
import type { Subject } from '../row.ts';
import { besideRow, type WithOperation } from '../support/beside.ts';
import { CONVERSATION_BODIES } from '../support/bodies.ts';
import { Neighbour } from '../support/neighbour.ts';
import { ONE_PLACE, occupy } from '../support/occupied.ts';

/** So many that none has a thousand conversations waiting, which is where the service says no. */
const USERS = 400;

/** POST of new conversations. Only the request is measured: the only place to run is taken, and all others wait. */
export const postConversations: Subject = {
  seconds: 120,
  measure: (share) =>
    withConversations((operation) => besideRow(operation, { share, rounds: share === 1 ? 8 : 2 })),
};

export const withConversations: WithOperation = async (use) => {
  await using model = await Neighbour.start();
  const keys: string[] = [];
  return await use({
    name: 'new, with a message',
    path: '/api/conversations',
    bodies: CONVERSATION_BODIES,
    keys,
    env: {
      ...ONE_PLACE,
      PARLEY_SANDBOX: 'unconfined',
      PARLEY_ALLOW_PRIVATE_HOSTS: new URL(model.url).host,
    },
    prepare: async (data) => {
      await mkdir(data, { mode: 0o700 });
      keys.push(...(await makeUsers(data)));
    },
    begin: (url) => occupy(url, model),
  });
};

async function makeUsers(data: string): Promise<string[]> {
  const storage = await openStorage(data);
  const keys = await storage.transact(async (stores) => {
    const made: string[] = [];
    for (let n = 0; n < USERS; n += 1) {
      const user = await ensureUser(stores.keys, `user${n}`);
      const { key } = await createKey(stores.keys, user, { label: 'bench', expiresAt: null });
      made.push(key.unwrap());
    }
    return made;
  });
  await storage.close();
  return keys;
}
