import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewConversation } from '../../src/conversations/store.ts';
import type { StoredEvent } from '../../src/events/log.ts';
import type { Sealed } from '../../src/secrets/vault.ts';
import type { Storage } from '../../src/storage/storage.ts';

/** An empty storage of an adapter, and the events it has told of. */
export interface StoresUnderTest extends AsyncDisposable {
  storage: Storage;
  committed: { conversation: number; events: readonly StoredEvent[] }[];
}

export type OpenStores = () => Promise<StoresUnderTest>;

/** What every adapter of a port must do: a fact each, with the check that fails when it is not so. */
export type Facts = Readonly<Record<string, (under: StoresUnderTest) => Promise<void>>>;

/** Registers a test for each fact, each with an empty storage. */
export function holds(facts: Facts, open: OpenStores): void {
  for (const [fact, check] of Object.entries(facts)) {
    test(fact, async () => {
      await using under = await open();
      await check(under);
    });
  }
}

/** The first fact that an adapter breaks, if any: to show that a suite notices a broken one. */
export async function firstBroken(facts: Facts, open: OpenStores): Promise<string | undefined> {
  for (const [fact, check] of Object.entries(facts)) {
    await using under = await open();
    try {
      await check(under);
    } catch {
      return fact;
    }
  }
  return undefined;
}

export const EARLY = '2026-01-01T00:00:00.000Z';
export const LATER = '2026-01-02T00:00:00.000Z';
export const LATEST = '2026-01-03T00:00:00.000Z';

/** A user to own rows; gives the id. */
export async function addUser({ storage }: StoresUnderTest, name = 'ann'): Promise<string> {
  const id = `id of ${name}`;
  await storage.transact(({ keys }) => keys.addUser({ id, name, createdAt: EARLY, disabledAt: null }));
  return id;
}

export function newConversation(userId: string, more: Partial<NewConversation> = {}): NewConversation {
  return {
    id: 'first',
    userId,
    title: 'A title',
    trigger: 'gui',
    selectedRepository: null,
    selectedBranch: null,
    gitProvider: null,
    createdAt: EARLY,
    unfinished: true,
    request: 'v1.key.sealed' as Sealed,
    ...more,
  };
}

/** A conversation of a user of its own; gives its number. */
export async function addConversation(
  under: StoresUnderTest,
  more: Partial<NewConversation> = {},
): Promise<number> {
  const userId = more.userId ?? (await addUser(under));
  return await under.storage.transact(({ conversations }) =>
    conversations.insert(newConversation(userId, more)),
  );
}

/** Two conversations of one user; gives their numbers. */
export async function addTwo(under: StoresUnderTest): Promise<[number, number]> {
  const userId = await addUser(under);
  return [
    await addConversation(under, { userId, id: 'one' }),
    await addConversation(under, { userId, id: 'other' }),
  ];
}

/** Rejects with an error of that name, as ports throw them. */
export async function rejectsAs(name: string, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => error instanceof Error && error.name === name);
}
