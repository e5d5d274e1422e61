import assert from 'node:assert/strict';
import type { Conversation, ConversationChange, NewConversation } from '../../src/conversations/store.ts';
import { userMessage } from '../../src/events/build.ts';
import { addConversation, addUser, type StoresUnderTest } from './stores.ts';

export async function rowOf(under: StoresUnderTest, key: number): Promise<Conversation> {
  const row = await under.storage.read.conversations.get(key);
  assert.ok(row, `conversation ${key} is there`);
  return row;
}

export const change = (under: StoresUnderTest, key: number, to: ConversationChange, generation?: number) =>
  under.storage.transact(({ conversations }) => conversations.change(key, to, generation));
export const claim = (under: StoresUnderTest, key: number, driver = 'me') =>
  under.storage.transact(({ conversations }) => conversations.claim(key, driver));
export const release = (
  under: StoresUnderTest,
  key: number,
  generation: number,
  seen: number,
  unfinished = false,
) =>
  under.storage.transact(({ conversations }) => conversations.release(key, generation, { seen, unfinished }));
export const fence = (under: StoresUnderTest, key: number) =>
  under.storage.transact(({ conversations }) => conversations.fence(key));
export const say = (under: StoresUnderTest, key: number) =>
  under.storage.transact(({ events }) => events.append(key, [userMessage('hello')]));

/** As many conversations of one user, named by their position. */
export async function addSeveral(under: StoresUnderTest, count: number, more: Partial<NewConversation> = {}) {
  const userId = more.userId ?? (await addUser(under));
  const keys: number[] = [];
  for (let n = 0; n < count; n += 1) {
    keys.push(await addConversation(under, { ...more, userId, id: `number ${n}` }));
  }
  return { userId, keys };
}
