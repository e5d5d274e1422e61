import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type TestConversations, startConversations } from '../../test/support/conversations.ts';
import type { Push } from '../sandbox/gateway/push/push.ts';
import { notePushes } from './noted-pushes.ts';

describe('pushes in the audit log', () => {
  let all: TestConversations;
  let note: (push: Push) => Promise<void>;
  beforeEach(async () => {
    all = await startConversations();
    note = notePushes({
      transact: all.storage.transact,
      read: all.storage.read,
      redactor: () =>
        Promise.resolve({ redact: (text) => text.replaceAll('a-live-secret', '<secret_hidden>') }),
    });
  });
  afterEach(() => all.close());

  const push = (conversation: number | null): Push => ({
    conversation,
    repository: 'acme/app',
    refs: [{ name: 'refs/heads/a-live-secret', from: null, to: 'a'.repeat(40), answer: 'ok' }],
    more: true,
    status: 200,
    refusal: null,
  });

  test('name the conversation, and hide a secret that is the name of a branch', async () => {
    await all.service.create(all.principal, { conversation_id: 'one' });
    await note(push(await all.service.keyOf(all.principal, 'one')));
    const [entry] = await all.storage.read.audit.list({ limit: 10 });
    assert.deepEqual(
      [entry?.action, entry?.user, entry?.actor, entry?.subject],
      ['push', 'default', 'agent', 'one'],
    );
    assert.deepEqual(entry?.detail, {
      repository: 'acme/app',
      refs: [{ name: 'refs/heads/<secret_hidden>', from: null, to: 'a'.repeat(40), answer: 'ok' }],
      more: true,
      answer: 200,
    });
  });

  test('make the conversation own what it made, until it removes it; a secret is not kept', async () => {
    await all.service.create(all.principal, { conversation_id: 'one' });
    const key = await all.service.keyOf(all.principal, 'one');
    const commit = 'a'.repeat(40);
    const ref = (
      name: string,
      from: string | null,
      to: string | null,
      answer: 'ok' | 'refused' | 'unknown',
    ) => ({
      name: `refs/heads/${name}`,
      from,
      to,
      answer,
    });
    const refs = [
      ref('made', null, commit, 'ok'),
      ref('gone', null, commit, 'ok'),
      ref('refused', null, commit, 'refused'),
      ref('unsaid', null, commit, 'unknown'),
      ref('changed', commit, commit, 'ok'),
      ref('a-live-secret', null, commit, 'ok'),
    ];
    await note({ ...push(key), refs });
    await note({
      ...push(key),
      refs: [ref('gone', commit, null, 'ok'), ref('made', commit, null, 'refused')],
    });
    const among = refs.map(({ name }) => name);
    const { madeRefs } = all.storage.read;
    assert.deepEqual(await madeRefs.among(key, among), ['refs/heads/made']);
  });

  test('that the gateway refused stand there as such', async () => {
    await all.service.create(all.principal, { conversation_id: 'one' });
    const key = await all.service.keyOf(all.principal, 'one');
    await note({ ...push(key), status: null, refusal: 'it may not' });
    const [entry] = await all.storage.read.audit.list({ limit: 10 });
    assert.deepEqual([entry?.action, entry?.detail['answer']], ['push.refused', null]);
  });

  test('of a conversation that is no more are noted without a name: its secrets are not known', async () => {
    for (const gone of [999, null]) await note(push(gone));
    const entries = await all.storage.read.audit.list({ limit: 10 });
    assert.deepEqual(
      entries.map(({ user, subject }) => [user, subject]),
      [
        [null, 'conversation 999'],
        [null, 'conversation ?'],
      ],
    );
    assert.ok(!JSON.stringify(entries).includes('a-live-secret'));
  });
});
