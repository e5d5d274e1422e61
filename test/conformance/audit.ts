import assert from 'node:assert/strict';
import type { AuditFact } from '../../src/audit/audit.ts';
import { addUser, type Facts } from './stores.ts';

const fact = (userId: string | null, more: Partial<AuditFact> = {}): AuditFact => ({
  action: 'key.created',
  userId,
  actor: 'command line',
  subject: 'a-key',
  ...more,
});

export const auditStoreFacts: Facts = {
  'what was added is read back in its order, with the name the user had': async (under) => {
    const userId = await addUser(under, 'ann');
    const { transact, read } = under.storage;
    const facts = [
      fact(userId, { detail: { label: 'laptop', refs: [{ name: 'main', new: null }] } }),
      fact(null, { action: 'login.failed', actor: 'service', subject: '203.0.113.7' }),
    ];
    await transact(({ audit }) => audit.add(facts));
    const listed = await read.audit.list({ limit: 10 });
    assert.deepEqual(
      listed.map(({ id: _id, at: _at, user, ...rest }) => [user, rest]),
      [
        ['ann', facts[0]],
        [null, { ...facts[1], detail: {} }],
      ],
    );
    const [first, second] = listed;
    assert.ok(first && second && first.id < second.id);
    assert.ok(!Number.isNaN(Date.parse(first.at)));
  },

  'what is noted of a user stays when the user is erased': async (under) => {
    const userId = await addUser(under, 'ann');
    const { transact, read } = under.storage;
    await transact(async ({ audit, keys }) => {
      await audit.add([fact(userId, { action: 'user.erased' })]);
      await keys.removeUser(userId);
    });
    const [entry] = await read.audit.list({ user: 'ann', limit: 10 });
    assert.deepEqual([entry?.action, entry?.userId, entry?.user], ['user.erased', userId, 'ann']);
  },

  'a transaction that throws leaves no trace': async ({ storage }) => {
    const thrown = storage.transact(async ({ audit }) => {
      await audit.add([fact(null)]);
      throw new Error('no');
    });
    await assert.rejects(thrown);
    assert.deepEqual(await storage.read.audit.list({ limit: 10 }), []);
  },

  'a page begins after an entry, and holds one user or one time on': async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    await transact(({ audit }) => audit.add([ann, bob, null, ann, bob, ann].map((id) => fact(id))));
    const all = await read.audit.list({ limit: 10 });
    assert.equal(all.length, 6);
    const paged = [];
    for (let after = 0; ; after = paged.at(-1)?.id ?? 0) {
      const page = await read.audit.list({ user: 'ann', after, limit: 2 });
      if (page.length === 0) break;
      paged.push(...page);
    }
    assert.deepEqual(
      paged,
      all.filter(({ user }) => user === 'ann'),
    );
    const [{ at } = { at: '' }] = all;
    assert.equal((await read.audit.list({ since: at, limit: 10 })).length, 6);
    const later = new Date(Date.parse(at) + 60_000).toISOString();
    assert.deepEqual(await read.audit.list({ since: later, limit: 10 }), []);
  },
};
