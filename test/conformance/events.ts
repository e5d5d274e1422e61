import assert from 'node:assert/strict';
import {
  action,
  condensation,
  agentMessage,
  observation,
  stateChanged,
  userMessage,
} from '../../src/events/build.ts';
import { AGENT_STATES, type Event, type LlmMetrics, type NewEvent } from '../../src/events/event.ts';
import type { StoredEvent } from '../../src/events/log.ts';
import { EMPTY_PROJECTION, project } from '../../src/events/projection.ts';
import { addConversation, addUser, type Facts, rejectsAs, type StoresUnderTest } from './stores.ts';
import { fc } from '../support/samples.ts';

const ALL = { from: 0, limit: 10_000, maxBytes: Number.MAX_SAFE_INTEGER };

const message = (text = 'hello') => userMessage(text);
const messages = (count: number) => Array.from({ length: count }, (_, n) => message(`number ${n}`));

function append(
  under: StoresUnderTest,
  key: number,
  events: NewEvent[] | ((first: number) => NewEvent[]),
  generation?: number,
) {
  return under.storage.transact((stores) => stores.events.append(key, events, generation));
}

const idsOf = (events: readonly { id: number }[]) => events.map(({ id }) => id);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const parsed = (stored: readonly StoredEvent[]): Event[] => stored.map(({ json }) => JSON.parse(json));

/** What was appended: an event but for the id and time that the log gave it. */
const withoutPlace = ({ id: _id, timestamp: _timestamp, ...event }: Event) => event;

const metrics = (cost: number, tokens: number): LlmMetrics => ({
  accumulated_cost: cost,
  max_budget_per_task: null,
  accumulated_token_usage: {
    model: 'any',
    prompt_tokens: tokens,
    completion_tokens: tokens + 1,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    context_window: 0,
    per_turn_token: 0,
    response_id: 'one',
  },
  costs: [],
  response_latencies: [],
  token_usages: [],
});

const anyMetrics = fc
  .tuple(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.nat())
  .map(([cost, tokens]) => ({ llm_metrics: metrics(cost + 0, tokens) }));
const anyText = fc.string({ unit: 'grapheme' });

const anyEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  anyText.map((text) => userMessage(text)),
  fc.tuple(anyText, fc.option(anyMetrics, { nil: {} })).map(([text, more]) => agentMessage(text, more)),
  fc
    .tuple(anyText, anyMetrics)
    .map(([thought, more]) => action('agent', 'think', thought, { thought }, more)),
  fc.constantFrom(...AGENT_STATES).map((state) => stateChanged(state)),
  anyText.map((text) => observation('agent', 'think', text, {})),
  anyText.map((summary) =>
    condensation({
      first: 1,
      last: 2,
      summary,
      carried: { steps: 1, said: [], waiting: [], tasks: [], cwd: null },
    }),
  ),
);

export const eventLogFacts: Facts = {
  'an event may bring the time at which it happened elsewhere; its id is ours': async (under) => {
    const key = await addConversation(under);
    const then = '2025-08-14T12:00:01.000002';
    const elsewhere = { ...message(), timestamp: then };
    await append(under, key, [elsewhere, message()]);
    const [past, now] = parsed(await under.storage.read.events.read(key, ALL));
    assert.deepEqual([past?.id, past?.timestamp], [0, then]);
    assert.notEqual(now?.timestamp, then);
  },

  'ids count from 0 without gaps, and the log says what was appended': async (under) => {
    const key = await addConversation(under);
    const first = await append(under, key, messages(2));
    const second = await append(under, key, [stateChanged('running')]);
    assert.deepEqual(idsOf([...first, ...second]), [0, 1, 2]);
    const log = parsed(await under.storage.read.events.read(key, ALL));
    assert.deepEqual(log, [...first, ...second]);
    assert.deepEqual(withoutPlace(log[2]!), stateChanged('running'));
    assert.match(log[2]!.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
  },

  'events that name each other are told the id of the first': async (under) => {
    const key = await addConversation(under);
    const [before] = await append(under, key, [message()]);
    const [action, answer] = await append(under, key, (first) => [
      message('done?'),
      observation('environment', 'null', '', {}, { cause: first }),
    ]);
    assert.deepEqual(idsOf([before!, action!, answer!]), [0, 1, 2]);
    assert.partialDeepStrictEqual(parsed(await under.storage.read.events.read(key, ALL)), [
      before,
      action,
      { ...answer, cause: 1 },
    ]);
  },

  'ids have no gaps when many append at once': async (under) => {
    const userId = await addUser(under);
    const keys = [
      await addConversation(under, { userId, id: 'a' }),
      await addConversation(under, { userId, id: 'b' }),
    ];
    const appends = upTo(40).map(async (n) => {
      const key = keys[n % 2]!;
      return { key, events: await append(under, key, messages(1 + (n % 3))) };
    });
    const done = await Promise.all(appends);
    for (const key of keys) {
      const own = done.filter((one) => one.key === key);
      for (const { events } of own) {
        assert.deepEqual(
          idsOf(events),
          upTo(events.length).map((n) => n + events[0]!.id),
        );
      }
      const count = own.reduce((sum, { events }) => sum + events.length, 0);
      assert.deepEqual(idsOf(await under.storage.read.events.read(key, ALL)), upTo(count));
      const told = under.committed.filter(({ conversation }) => conversation === key);
      assert.deepEqual(
        told.flatMap(({ events }) => idsOf(events)),
        upTo(count),
      );
    }
  },

  'only the generation that drives appends; without one anybody may': async (under) => {
    const key = await addConversation(under);
    await under.storage.transact(({ conversations }) => conversations.claim(key, 'me'));
    await append(under, key, [message()], 1);
    for (const other of [0, 2]) {
      await rejectsAs('Fenced', append(under, key, [message()], other));
      await rejectsAs('Fenced', append(under, key, [], other));
    }
    await append(under, key, [message()]);
    assert.deepEqual(await append(under, key, [], 1), []);
    assert.deepEqual(idsOf(await under.storage.read.events.read(key, ALL)), [0, 1]);
  },

  'a conversation that is not there, or no longer, takes no events and has none': async (under) => {
    const key = await addConversation(under);
    await append(under, key, messages(2));
    await rejectsAs('ConversationGone', append(under, key + 1, [message()]));
    await under.storage.transact(({ conversations }) => conversations.remove(key));
    await rejectsAs('ConversationGone', append(under, key, [message()], 0));
    assert.deepEqual(await under.storage.read.events.read(key, ALL), []);
    assert.equal(under.committed.length, 1);
  },

  'a range is read from either end, bounds included': async (under) => {
    const key = await addConversation(under);
    await append(under, key, messages(10));
    const read = async (range: object) =>
      idsOf(await under.storage.read.events.read(key, { ...ALL, ...range }));
    assert.deepEqual(await read({ from: 7 }), [7, 8, 9]);
    assert.deepEqual(await read({ from: 3, to: 5 }), [3, 4, 5]);
    assert.deepEqual(await read({ from: 3, to: 8, limit: 2 }), [3, 4]);
    assert.deepEqual(await read({ from: 3, to: 8, limit: 2, reverse: true }), [8, 7]);
    assert.deepEqual(await read({ reverse: true, limit: 3 }), [9, 8, 7]);
    assert.deepEqual(await read({ from: 10 }), []);
    assert.deepEqual(await read({ from: 5, to: 4 }), []);
    assert.deepEqual(await read({ limit: 0 }), []);
  },

  'a long log is read whole, page after page': async (under) => {
    const key = await addConversation(under);
    await append(under, key, messages(350));
    assert.deepEqual(idsOf(await under.storage.read.events.read(key, ALL)), upTo(350));
    const page = { limit: 120, maxBytes: 1_000_000, reverse: true };
    const seen: number[] = [];
    let to = 349;
    while (to >= 0) {
      const ids = idsOf(await under.storage.read.events.read(key, { from: 0, to, ...page }));
      seen.push(...ids);
      to = ids.at(-1)! - 1;
    }
    assert.deepEqual(seen, upTo(350).toReversed());
  },

  'a page ends before the event that would make it too large, in bytes, but has one': async (under) => {
    const key = await addConversation(under);
    await append(under, key, [message('€'.repeat(1000)), message('€'.repeat(1000)), message('x')]);
    const all = await under.storage.read.events.read(key, ALL);
    const sizes = all.map(({ json }) => Buffer.byteLength(json));
    const read = async (maxBytes: number, reverse = false) =>
      idsOf(await under.storage.read.events.read(key, { ...ALL, maxBytes, reverse }));
    assert.deepEqual(await read(1), [0]);
    assert.deepEqual(await read(1, true), [2]);
    assert.deepEqual(await read(sizes[0]! + sizes[1]! - 1), [0]);
    assert.deepEqual(await read(sizes[0]! + sizes[1]!), [0, 1]);
    assert.deepEqual(await read(sizes[2]! + sizes[1]!, true), [2, 1]);
  },

  'the row follows the log: what it says equals the fold over the log': async (under) => {
    const userId = await addUser(under);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(anyEvent, { maxLength: 4 }), { maxLength: 6 }), async (appends) => {
        const key = await addConversation(under, { userId, id: `number ${(count += 1)}` });
        for (const events of appends) await append(under, key, events);
        const log = parsed(await under.storage.read.events.read(key, ALL));
        const folded = log.reduce(project, EMPTY_PROJECTION);
        const row = await under.storage.read.conversations.get(key);
        assert.ok(row);
        const { agentState, accumulatedCost, promptTokens, completionTokens, lastUserMessage, condensation } =
          row;
        assert.deepEqual(
          { agentState, accumulatedCost, promptTokens, completionTokens, lastUserMessage, condensation },
          folded,
        );
        assert.equal(row.lastEventId, log.length - 1);
        assert.equal(log.length, appends.flat().length);
        for (const [index, event] of appends.flat().entries()) {
          assert.deepEqual(withoutPlace(log[index]!), event);
        }
      }),
      { numRuns: 40 },
    );
  },

  'a row says when its log last grew': async (under) => {
    const key = await addConversation(under);
    const before = new Date().toISOString();
    await append(under, key, [message()]);
    const row = await under.storage.read.conversations.get(key);
    const after = new Date().toISOString();
    assert.ok(row && row.updatedAt >= before && row.updatedAt <= after);
  },
};
