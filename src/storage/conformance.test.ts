import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { auditStoreFacts } from '../../test/conformance/audit.ts';
import { conversationStoreFacts } from '../../test/conformance/conversations.ts';
import { eventLogFacts } from '../../test/conformance/events.ts';
import { experimentStoreFacts } from '../../test/conformance/experiments.ts';
import { feedbackStoreFacts } from '../../test/conformance/feedback.ts';
import { idempotencyStoreFacts } from '../../test/conformance/idempotency.ts';
import { keyStoreFacts } from '../../test/conformance/keys.ts';
import { madeRefStoreFacts } from '../../test/conformance/made-refs.ts';
import { openActionStoreFacts } from '../../test/conformance/open-actions.ts';
import { settingsStoreFacts } from '../../test/conformance/settings.ts';
import { type Fault, withFault } from '../../test/conformance/stores-faults.ts';
import { transactionFacts } from '../../test/conformance/stores-transactions.ts';
import { type Facts, firstBroken, holds, type StoresUnderTest } from '../../test/conformance/stores.ts';
import { openStorage, type Stores } from './storage.ts';

async function openSqlite(): Promise<StoresUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-stores-'));
  const committed: StoresUnderTest['committed'] = [];
  const storage = await openStorage(directory, (conversation, events) =>
    committed.push({ conversation, events }),
  );
  return {
    storage,
    committed,
    async [Symbol.asyncDispose]() {
      await storage.close();
      await rm(directory, { recursive: true });
    },
  };
}

const PORTS: Record<keyof Stores, { facts: Facts; methods: string[]; noticedTwice: string[] }> = {
  meta: { facts: transactionFacts, methods: ['get', 'set'], noticedTwice: [] },
  keys: {
    facts: keyStoreFacts,
    methods: [
      'addUser',
      'findUser',
      'listUsers',
      'disableUser',
      'removeUser',
      'addKey',
      'findKey',
      'listKeys',
      'revokeKey',
      'restoreKey',
      'touchKeys',
      'addSession',
      'findSession',
      'endSession',
    ],
    noticedTwice: ['addUser', 'addKey', 'addSession'],
  },
  audit: { facts: auditStoreFacts, methods: ['add', 'list'], noticedTwice: ['add'] },
  feedback: { facts: feedbackStoreFacts, methods: ['add', 'list'], noticedTwice: ['add'] },
  settings: { facts: settingsStoreFacts, methods: ['load', 'save'], noticedTwice: [] },
  events: { facts: eventLogFacts, methods: ['append', 'read'], noticedTwice: ['append'] },
  conversations: {
    facts: conversationStoreFacts,
    methods: [
      'insert',
      'find',
      'get',
      'lastUserMessage',
      'request',
      'list',
      'change',
      'remove',
      'claim',
      'release',
      'fence',
      'removed',
      'discarded',
      'driven',
      'requeue',
      'waiting',
      'countWaiting',
      'idle',
      'untouched',
      'ofDisabledUsers',
    ],
    noticedTwice: ['insert', 'claim', 'requeue'],
  },
  openActions: { facts: openActionStoreFacts, methods: ['of', 'set', 'close'], noticedTwice: [] },
  madeRefs: { facts: madeRefStoreFacts, methods: ['among', 'note'], noticedTwice: [] },
  experiments: { facts: experimentStoreFacts, methods: ['get', 'save'], noticedTwice: [] },
  idempotency: { facts: idempotencyStoreFacts, methods: ['find', 'save'], noticedTwice: [] },
};
const ports = Object.keys(PORTS) as (keyof Stores)[];

for (const port of ports) {
  describe(`SQLite: ${port}`, () => {
    holds(PORTS[port].facts, openSqlite);
  });
}

async function noticed(port: keyof Stores, methods: readonly string[], fault: Fault): Promise<boolean> {
  const open = withFault(openSqlite, { port, methods, fault });
  return (await firstBroken(PORTS[port].facts, open)) !== undefined;
}

describe('the suites bite', () => {
  for (const port of ports) {
    const { methods, noticedTwice } = PORTS[port];

    test(`${port}: the list of methods is whole`, async () => {
      await using under = await openSqlite();
      const store = under.storage.read[port];
      const owner = port === 'meta' ? store : Object.getPrototypeOf(store);
      const all = Object.getOwnPropertyNames(owner).filter((name) => name !== 'constructor');
      assert.deepEqual(all.toSorted(), methods.toSorted());
    });

    test(`${port}: a method that fails or forgets is noticed`, async () => {
      for (const method of methods) {
        for (const fault of ['fail', 'forget'] as const) {
          assert.ok(await noticed(port, [method], fault), `${method} that ${fault}s`);
        }
      }
    });

    test(`${port}: what is done twice is noticed where it does harm, and does none elsewhere`, async () => {
      for (const method of noticedTwice) assert.ok(await noticed(port, [method], 'repeat'), method);
      const harmless = methods.filter((method) => !noticedTwice.includes(method));
      assert.equal(await noticed(port, harmless, 'repeat'), false);
    });

    test(`${port}: slow answers change nothing`, async () => {
      assert.equal(await noticed(port, methods, 'delay'), false);
    });
  }
});
