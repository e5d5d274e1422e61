import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type FeedbackEntry, keepFeedback } from '../feedback/feedback.ts';
import { openStorage } from '../storage/storage.ts';
import { newConversation } from '../../test/conformance/stores.ts';
import { run } from './run.ts';

test('parley feedback shows all that was kept, for people and as JSON, and nothing of strangers is kept', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-feedback-'));
  const parley = async (...argv: string[]): Promise<string[]> => {
    const out: string[] = [];
    const code = await run(argv, {
      terminal: { out: (line) => void out.push(line), note: () => {} },
      serve: () => Promise.resolve(0),
      env: { PARLEY_DATA_DIR: dataDir },
    });
    assert.equal(code, 0);
    return out;
  };
  try {
    const storage = await openStorage(dataDir);
    await parley('keys', 'create', '--user', 'ann');
    const [ann] = await storage.read.keys.listUsers();
    assert.ok(ann);
    const by = { userId: ann.id, userName: 'ann', keyId: 'none' };
    const given = { polarity: 'negative', permissions: 'private', email: 'a@b.c', version: '' } as const;
    await storage.transact(({ conversations }) => conversations.insert(newConversation(ann.id)));
    for (let n = 0; n < 501; n += 1) await keepFeedback(storage.transact, by, 'first', given);
    const stranger = keepFeedback(storage.transact, { ...by, userId: 'bob' }, 'first', given);
    await assert.rejects(stranger, { code: 'conversation_not_found' });
    await storage.close();

    const entries = (await parley('feedback', '--json')).map((line) => JSON.parse(line) as FeedbackEntry);
    assert.equal(entries.length, 501);
    const { at: _at, id: _id, ...rest } = entries[500] ?? { at: '', id: 0 };
    assert.deepEqual(rest, { ...given, user: 'ann', conversation: 'first', lastEventId: -1 });
    const [line] = await parley('feedback', '--since', '1h');
    assert.match(line ?? '', /^\S+T\S+ +negative +ann +first +at event -1 +a@b\.c$/);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
