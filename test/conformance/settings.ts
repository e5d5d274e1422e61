import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Sealed } from '../../src/secrets/vault.ts';
import type { StoredCustomSecret, StoredToken } from '../../src/settings/store.ts';
import { addUser, type Facts } from './stores.ts';

const bound = (value: string, destination = 'https://models.example') => ({
  sealed: `v1.key.${value}` as Sealed,
  destination,
});

const token = (more: Partial<StoredToken> = {}): StoredToken => ({
  provider: 'github',
  host: '',
  accountId: null,
  status: 'unverified',
  login: null,
  secret: bound('token', 'github '),
  ...more,
});

const custom = (name: string, value = 'a'): StoredCustomSecret => ({
  name,
  description: `what ${value} is for`,
  secret: bound(value, 'sandbox'),
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

  'a user has one token for each provider, listed by provider': async (under) => {
    const userId = await addUser(under);
    const { transact, read } = under.storage;
    const gitlab = token({ provider: 'gitlab', host: 'git.example:8443' });
    const verified = token({
      accountId: '7',
      status: 'verified',
      login: 'ann',
      host: 'ghe.example',
      secret: bound('new', 'github ghe.example'),
    });
    for (const each of [gitlab, token(), verified]) {
      await transact(({ settings }) => settings.saveToken(userId, each));
    }
    assert.deepEqual(await read.settings.tokens(userId), [verified, gitlab]);
  },

  "tokens are removed one by one or all, and nobody else's": async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    const [github, gitlab] = [token(), token({ provider: 'gitlab' })];
    for (const userId of [ann, bob]) {
      await transact(({ settings }) => settings.saveToken(userId, github));
      await transact(({ settings }) => settings.saveToken(userId, gitlab));
    }
    await transact(({ settings }) => settings.removeToken(ann, 'github'));
    assert.deepEqual(await read.settings.tokens(ann), [gitlab]);
    await transact(({ settings }) => settings.saveToken(ann, github));
    await transact(({ settings }) => settings.removeTokens(ann));
    assert.deepEqual(await read.settings.tokens(ann), []);
    assert.deepEqual(await read.settings.tokens(bob), [github, gitlab]);
  },

  'custom secrets are kept by name, replaced, and listed by name': async (under) => {
    const userId = await addUser(under);
    const { transact, read } = under.storage;
    for (const each of [custom('B'), custom('A'), custom('B', 'b')]) {
      await transact(({ settings }) => settings.saveCustomSecret(userId, each));
    }
    assert.deepEqual(await read.settings.customSecrets(userId), [custom('A'), custom('B', 'b')]);
  },

  'a custom secret is removed once, and only that of its user': async (under) => {
    const [ann, bob] = [await addUser(under, 'ann'), await addUser(under, 'bob')];
    const { transact, read } = under.storage;
    for (const userId of [ann, bob]) {
      await transact(({ settings }) => settings.saveCustomSecret(userId, custom('A')));
    }
    assert.equal(await transact(({ settings }) => settings.removeCustomSecret(ann, 'A')), true);
    assert.equal(await transact(({ settings }) => settings.removeCustomSecret(ann, 'A')), false);
    assert.deepEqual(await read.settings.customSecrets(ann), []);
    assert.deepEqual(await read.settings.customSecrets(bob), [custom('A')]);
  },

  'nothing is stored for a user who is not there': async (under) => {
    const { transact } = under.storage;
    await assert.rejects(transact(({ settings }) => settings.save('nobody', { document: {}, secrets: {} })));
    await assert.rejects(transact(({ settings }) => settings.saveToken('nobody', token())));
    await assert.rejects(transact(({ settings }) => settings.saveCustomSecret('nobody', custom('A'))));
  },
};
