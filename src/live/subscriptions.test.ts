import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fc } from '../../test/support/samples.ts';
import type { EventRange, StoredEvent } from '../events/log.ts';
import type { StatusUpdate } from './status.ts';
import type { Batch, Sink, Subscription } from './subscription.ts';
import { Subscriptions } from './subscriptions.ts';

const PATIENT_MS = 600_000;

/** Conversation 1: its log in memory, which can be made to answer late, and who watches it. */
class Conversation implements Disposable {
  readonly log: StoredEvent[] = [];
  readonly told: string[] = [];
  reads = 0;
  readonly subscriptions: Subscriptions;
  #held: PromiseWithResolvers<void> | undefined;

  constructor(atOnce?: number) {
    this.subscriptions = new Subscriptions((_, range) => this.#read(range), atOnce);
  }

  /** As a commit does it: first stored, then told. */
  commit(...sizes: number[]): void {
    const events = sizes.map((size, n) => ({ id: this.log.length + n, json: `"${'x'.repeat(size)}"` }));
    this.log.push(...events);
    this.subscriptions.publish(1, events);
  }

  notify(): void {
    const message = String(this.told.length);
    this.told.push(message);
    this.subscriptions.notify(1, status(message));
  }

  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  watch(from: number, roomFor?: number): Watcher {
    return new Watcher(this.subscriptions.subscribe(1, from), roomFor);
  }

  [Symbol.dispose](): void {
    this.subscriptions.close();
  }

  async #read({ from, limit, maxBytes }: EventRange): Promise<StoredEvent[]> {
    this.reads += 1;
    const page: StoredEvent[] = [];
    let bytes = 0;
    for (const event of this.log.slice(from, from + limit)) {
      bytes += event.json.length;
      if (page.length > 0 && bytes > maxBytes) break;
      page.push(event);
    }
    await this.#held?.promise;
    return page;
  }
}

/** A connection that is full after so many writes, until it is drained. */
class Watcher implements Sink {
  readonly ids: number[] = [];
  readonly told: string[] = [];
  readonly subscription: Subscription;
  readonly ended: Promise<boolean>;
  readonly #roomFor: number;
  #room: number;

  constructor(subscription: Subscription, roomFor = Number.POSITIVE_INFINITY) {
    this.subscription = subscription;
    this.#roomFor = roomFor;
    this.#room = roomFor;
    this.ended = subscription.follow(this, PATIENT_MS);
  }

  write({ statuses, events }: Batch): void {
    assert.ok(this.hasRoom(), 'is not written to when it is full');
    assert.ok(statuses.length + events.length > 0);
    this.#room -= 1;
    this.told.push(...statuses.map(({ message }) => message));
    this.ids.push(...events.map(({ id }) => id));
  }

  hasRoom(): boolean {
    return this.#room > 0;
  }

  drain(): void {
    this.#room = this.#roomFor;
    this.subscription.resume();
  }
}

const status = (message: string): StatusUpdate => ({ status_update: true, type: 'info', message });
const upTo = (end: number, from = 0): number[] => Array.from({ length: end - from }, (_, n) => from + n);

test('what is stored comes first, then what is committed, which is handed on without reading the log', async () => {
  using conversation = new Conversation();
  conversation.commit(1, 1, 1);
  const watcher = conversation.watch(1);
  await nextTurn();
  assert.deepEqual(watcher.ids, [1, 2]);
  const { reads } = conversation;
  conversation.commit(1, 1);
  conversation.commit(1);
  await nextTurn();
  assert.deepEqual(watcher.ids, [1, 2, 3, 4, 5]);
  assert.equal(conversation.reads, reads);
});

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      sizes: fc.array(fc.constantFrom(1, 1, 1, 90_000), { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('notify' as const, 'hold' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('come' as const),
      seen: fc.double({ min: 0, max: 1, noNaN: true }),
      roomFor: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drain' as const), who: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('go' as const), who: fc.nat(9) }) },
  // Within a turn, too, what is committed and read falls between promises.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('tick' as const), ticks: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
);

test('whatever falls between what, each watcher gets every event once, in order, and what is told meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      using conversation = new Conversation(2);
      const here: { watcher: Watcher; from: number; toldBefore: number }[] = [];
      const gone: typeof here = [];
      for (const one of steps) {
        if (one.do === 'commit') conversation.commit(...one.sizes);
        else if (one.do === 'come') {
          const from = Math.round(one.seen * conversation.log.length);
          const toldBefore = conversation.told.length;
          here.push({ watcher: conversation.watch(from, one.roomFor), from, toldBefore });
        } else if (one.do === 'drain') here[one.who]?.watcher.drain();
        else if (one.do === 'go') {
          gone.push(...here.splice(one.who, 1));
          gone.at(-1)?.watcher.subscription.close();
        } else if (one.do === 'tick') for (let n = 0; n < one.ticks; n += 1) await Promise.resolve();
        else if (one.do === 'turn') await nextTurn();
        else conversation[one.do]();
      }
      conversation.release();
      conversation.commit(1);
      const end = conversation.log.length;
      const { told: allTold } = conversation;
      const isDone = () =>
        here.every(
          ({ watcher: { ids, told }, toldBefore }) =>
            ids.at(-1) === end - 1 && (toldBefore === allTold.length || told.at(-1) === allTold.at(-1)),
        );
      for (let turns = 0; turns < 1_000 && !isDone(); turns += 1) {
        for (const { watcher } of here) watcher.drain();
        await nextTurn();
      }

      for (const { watcher, from, toldBefore } of here) {
        assert.deepEqual(watcher.ids, upTo(end, from), 'all of it, once, in order');
        const told = watcher.told.map(Number);
        assert.deepEqual(told, upTo(allTold.length, told[0] ?? allTold.length));
        assert.ok((told[0] ?? allTold.length) <= toldBefore, 'all that was told since it came');
      }
      for (const { watcher, from } of gone) {
        assert.deepEqual(watcher.ids, upTo(from + watcher.ids.length, from));
        assert.equal(await watcher.ended, true);
      }
      assert.equal(conversation.subscriptions.watchers(1), here.length);
      conversation.subscriptions.close();
      for (const { watcher } of here) assert.equal(await watcher.ended, true);
    }),
    { numRuns: 500 },
  );
});

test('who is full holds nothing: it reads the log when there is room, and nobody else does', async () => {
  using conversation = new Conversation();
  const [slow, quick] = [conversation.watch(0, 1), conversation.watch(0)];
  await nextTurn();
  const { reads } = conversation;
  for (let n = 0; n < 40; n += 1) {
    conversation.commit(50_000);
    await nextTurn();
  }
  assert.deepEqual(quick.ids, upTo(40));
  assert.deepEqual(slow.ids, [0]);
  assert.equal(conversation.reads, reads);
  while (slow.ids.length < 40) {
    slow.drain();
    await nextTurn();
  }
  assert.deepEqual(slow.ids, upTo(40));
});

test('many are handed what comes a part at a time, and what comes meanwhile together, after it', async () => {
  using conversation = new Conversation(2);
  const watchers = Array.from({ length: 5 }, () => conversation.watch(0));
  await nextTurn();
  const { reads } = conversation;
  const have = (id: number) => watchers.filter(({ ids }) => ids.includes(id)).length;
  const counts: number[] = [];
  conversation.commit(1);
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
    counts.push(have(0));
    if (turn < 2) conversation.commit(1);
  }
  assert.deepEqual(counts, [2, 4, 5]);
  while (have(2) < 5) await nextTurn();
  for (const { ids } of watchers) assert.deepEqual(ids, [0, 1, 2]);
  assert.equal(conversation.reads, reads);
});

test('what does not fit while it waits for its turn is read from the log', async () => {
  using conversation = new Conversation(1);
  const [first, second] = [conversation.watch(0), conversation.watch(0)];
  await nextTurn();
  conversation.commit(1);
  await Promise.resolve();
  for (let n = 0; n < 10; n += 1) conversation.commit(100_000);
  while (second.ids.length < 11) await nextTurn();
  for (const { ids } of [first, second]) assert.deepEqual(ids, upTo(11));
});

test('of statuses the newest wait for who is full', async () => {
  using conversation = new Conversation();
  const watcher = conversation.watch(0, 1);
  for (let n = 0; n < 100; n += 1) {
    conversation.notify();
    await nextTurn();
  }
  watcher.drain();
  await nextTurn();
  assert.deepEqual(watcher.told, ['0', ...conversation.told.slice(-32)]);
});

test('a connection that fails fails alone', async () => {
  using conversation = new Conversation();
  const failing: Sink = {
    hasRoom: () => true,
    write: () => {
      throw new Error('broken');
    },
  };
  const failed = conversation.subscriptions.subscribe(1, 0).follow(failing, PATIENT_MS);
  const watcher = conversation.watch(0);
  await nextTurn();
  conversation.commit(1);
  conversation.commit(1);
  await assert.rejects(failed, /broken/);
  await nextTurn();
  assert.deepEqual(watcher.ids, [0, 1]);
});

test('who has no room for too long is given up; the end of a conversation ends who watches it', async () => {
  using conversation = new Conversation();
  const full: Sink = { hasRoom: () => false, write: () => assert.fail() };
  const stalled = conversation.subscriptions.subscribe(1, 0);
  assert.equal(await stalled.follow(full, 1), false);
  stalled.close();
  const waits = conversation.subscriptions.subscribe(1, 0).follow(full, PATIENT_MS);
  const other = conversation.subscriptions.subscribe(2, 0);
  const watcher = conversation.watch(0);
  await nextTurn();
  conversation.subscriptions.end(1);
  assert.deepEqual(await Promise.all([watcher.ended, waits]), [true, true]);
  assert.equal(conversation.subscriptions.watchers(2), 1);
  other.close();
  assert.equal(conversation.subscriptions.size, 0);
});
