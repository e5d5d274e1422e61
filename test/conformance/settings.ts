import assert from 'node:assert/strict';
import type { Sealed } from '../../src/secrets/vault.ts';
import { addUser, type Facts } from './stores.ts';
import { fc } from '../support/samples.ts';

const bound = (value: string, destination = 'https://models.example') => ({
  sealed: `v1.key.${value}` as Sealed,
  destination,
});

export const settingsStoreFacts: Facts = {
  'there are no settings before the first are saved': async (under) => {
    const userId = await addUser(under);
    assert.equal(await under.storage.read.settings.load(userId), undefined);
  },

  'any document comes back as it was saved': async (under) => {
    const userId = await addUser(under);
    const document = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ noUnicodeString: false }));
    await fc.assert(
      fc.asyncProperty(document, async (any) => {
        // What JSON cannot say (-0) is not asked of the store.
        const saved: Record<string, unknown> = JSON.parse(JSON.stringify(any));
        const stored = { document: saved, secrets: { 'mcp_config.sse_servers': bound('b') } };
        await under.storage.transact(({ settings }) => settings.save(userId, stored));
        assert.deepEqual(await under.storage.read.settings.load(userId), stored);
      }),
      { numRuns: 50 },
    );
  },

  "settings replace the user's former ones, and nobody else's": async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    const first = { document: { language: 'en' }, secrets: { llm_api_key: bound('a') } };
    const second = { document: { agent: 'CodeActAgent' }, secrets: {} };
    for (const userId of [ann, bob]) await transact(({ settings }) => settings.save(userId, first));
    await transact(({ settings }) => settings.save(ann, second));
    assert.deepEqual(await read.settings.load(ann), second);
    assert.deepEqual(await read.settings.load(bob), first);
  },

  'nothing is stored for a user who is not there': async (under) => {
    const { transact } = under.storage;
    await assert.rejects(transact(({ settings }) => settings.save('nobody', { document: {}, secrets: {} })));
  },
};
