import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventLog, StoredEvent } from '../events/log.ts';
import { type Item, Subscriptions } from './subscriptions.ts';

/** A log in memory that can be made to answer late. */
function memoryLog(): EventLog & { stored: StoredEvent[]; reads: number; hold?: Promise<void> } {
  const log = {
    stored: [] as StoredEvent[],
    reads: 0,
    append: () => Promise.reject(new Error('not written here')),
    async read(_: number, { from, limit, maxBytes }: Parameters<EventLog['read']>[1]) {
      log.reads += 1;
      const page: StoredEvent[] = [];
      let bytes = 0;
      for (const event of log.stored.slice(from, from + limit)) {
        bytes += event.json.length;
        if (page.length > 0 && bytes > maxBytes) break;
        page.push(event);
      }
      await (log as { hold?: Promise<void> }).hold;
      return page;
    },
  };
  return log;
}

const event = (id: number, json = `{"id":${id}}`): StoredEvent => ({ id, json });
const ids = (items: Item[] | undefined): number[] =>
  (items ?? []).flatMap((item) => (item.kind === 'event' ? [item.event.id] : []));

function commit(
  subscriptions: Subscriptions,
  log: { stored: StoredEvent[] },
  ...events: StoredEvent[]
): void {
  log.stored.push(...events);
  subscriptions.publish(1, events);
}

test('what is stored comes first, then what is committed, without a gap or a repetition', async () => {
  const log = memoryLog();
  const subscriptions = new Subscriptions((key, range) => log.read(key, range));
  commit(subscriptions, log, event(0), event(1), event(2));
  const subscription = subscriptions.subscribe(1, 1);
  assert.deepEqual(ids(await subscription.take()), [1, 2]);
  const waiting = subscription.take();
  await new Promise((resolve) => setImmediate(resolve));
  commit(subscriptions, log, event(3), event(4));
  assert.deepEqual(ids(await waiting), [3, 4]);
  const { reads } = log;
  commit(subscriptions, log, event(5));
  assert.deepEqual(ids(await subscription.take()), [5]);
  assert.equal(log.reads, reads, 'who has seen everything is handed the event itself');
});

test('events committed while the log is read are neither lost nor given twice', async () => {
  const log = memoryLog();
  const subscriptions = new Subscriptions((key, range) => log.read(key, range));
  log.stored.push(event(0));
  let go = (): void => {};
  log.hold = new Promise((resolve) => (go = resolve));
  const subscription = subscriptions.subscribe(1, 0);
  const first = subscription.take();
  commit(subscriptions, log, event(1));
  commit(subscriptions, log, event(2));
  go();
  const seen = ids(await first);
  while (seen.at(-1) !== 2) seen.push(...ids(await subscription.take()));
  assert.deepEqual(seen, [0, 1, 2]);
});

test('a subscriber that does not take holds a bound, and gets everything later from the log', async () => {
  const log = memoryLog();
  const subscriptions = new Subscriptions((key, range) => log.read(key, range));
  const subscription = subscriptions.subscribe(1, 0);
  const large = 'x'.repeat(50_000);
  for (let id = 0; id < 40; id += 1) commit(subscriptions, log, event(id, `"${large}"`));
  const seen: number[] = [];
  while (seen.length < 40) seen.push(...ids(await subscription.take()));
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, id) => id),
  );
});

test('statuses reach those who watch now; closing wakes whoever waits', async () => {
  const log = memoryLog();
  const subscriptions = new Subscriptions((key, range) => log.read(key, range));
  const subscription = subscriptions.subscribe(1, 0);
  const other = subscriptions.subscribe(2, 0);
  subscriptions.notify(1, { status_update: true, type: 'info', id: 'STATUS$READY', message: '' });
  const items = await subscription.take();
  assert.equal(items?.[0]?.kind, 'status');
  const waiting = other.take();
  assert.equal(subscriptions.watchers(2), 1);
  subscriptions.end(2);
  assert.equal(await waiting, undefined);
  assert.equal(subscriptions.watchers(2), 0);
});
