import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKey, ensureUser } from '../../src/auth/keys.ts';
import { observation, userMessage } from '../../src/events/build.ts';
import type { Vault } from '../../src/secrets/vault.ts';
import { openStorage } from '../../src/storage/storage.ts';

const AT_ONCE = 500;

/** What a service has behind it. */
export interface Past {
  conversations: number;
  /** Of each conversation. */
  events: number;
}

/**
 * A data directory as years of use leave it: conversations of the user `default` at rest, called `c0`, `c1`, …, each
 * with its log. Written by the stores themselves, many at once.
 */
export async function seededData({ conversations, events }: Past): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), 'past-')), 'data');
  await mkdir(folder, { mode: 0o700 });
  const storage = await openStorage(folder);
  const userId = await storage.transact(async ({ keys }) => {
    const user = await ensureUser(keys, 'default');
    await createKey(keys, user, { label: 'bench', expiresAt: null });
    return user.id;
  });
  for (let from = 0; from < conversations; from += AT_ONCE) {
    const to = Math.min(conversations, from + AT_ONCE);
    await storage.transact(async ({ conversations: rows, events: log }) => {
      for (let n = from; n < to; n += 1) {
        const key = await rows.insert({
          id: `c${n}`,
          userId,
          title: `Look into issue ${n}`,
          trigger: 'gui',
          selectedRepository: n % 2 === 0 ? `ann/project-${n % 40}` : null,
          selectedBranch: null,
          gitProvider: n % 2 === 0 ? 'github' : null,
          createdAt: new Date(1_700_000_000_000 + n * 1000).toISOString(),
          unfinished: false,
          // Nobody opens it: none of them is driven again.
          request: 'x'.repeat(300) as ReturnType<Vault['seal']>,
        });
        await rows.change(key, { wanted: false, status: 'STOPPED', prepared: true });
        for (let first = 0; first < events; first += AT_ONCE) {
          await log.append(key, eventsOf(first, Math.min(AT_ONCE, events - first)));
        }
      }
    });
  }
  await storage.close();
  return folder;
}

function eventsOf(first: number, count: number) {
  return Array.from({ length: count }, (_, n) =>
    (first + n) % 2 === 0
      ? userMessage(`Message ${first + n}: see whether the tests of the parser pass.`)
      : observation(
          'agent',
          'think',
          `Thought ${first + n} has been logged, as ${'it goes '.repeat(20)}`,
          {},
        ),
  );
}
