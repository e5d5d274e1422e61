import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Secret } from '../secrets/secret.ts';
import { Vault } from '../secrets/vault.ts';
import { Seals } from './seals.ts';

describe('the seals of a user', () => {
  const ann = new Seals(new Vault(randomBytes(32))).of('ann');
  const value = new Secret('the-value');

  test('open what they sealed', () => {
    const bound = ann.seal('llm_api_key', value, 'https://models.example');
    assert.equal(ann.open('llm_api_key', bound).unwrap(), 'the-value');
    assert.doesNotMatch(JSON.stringify(bound), /the-value/);
  });

  test('do not open at another path, destination or user', () => {
    const seals = new Seals(new Vault(randomBytes(32)));
    const bound = seals.of('ann').seal('llm_api_key', value, 'https://models.example');
    const broken = { name: 'VaultError' };
    assert.throws(() => seals.of('ann').open('search_api_key', bound), broken);
    assert.throws(() => seals.of('bob').open('llm_api_key', bound), broken);
    assert.throws(
      () => seals.of('ann').open('llm_api_key', { ...bound, destination: 'https://evil.example' }),
      broken,
    );
  });

  test('are the same for the same value at the same place, and for nothing else', () => {
    const seals = new Seals(new Vault(randomBytes(32)));
    const { sealed } = seals.of('ann').seal('a', value, 'x');
    assert.equal(seals.of('ann').seal('a', new Secret('the-value'), 'x').sealed, sealed);
    const others = [
      seals.of('bob').seal('a', value, 'x'),
      seals.of('ann').seal('b', value, 'x'),
      seals.of('ann').seal('a', value, 'y'),
      seals.of('ann').seal('a', new Secret('another'), 'x'),
    ];
    assert.equal(new Set([sealed, ...others.map((other) => other.sealed)]).size, 5);
  });

  test('are remembered up to a bound', () => {
    const first = ann.seal('first', value, '').sealed;
    for (let i = 0; i < 4_000; i += 1) ann.seal(`${i}`, value, '');
    assert.notEqual(ann.seal('first', value, '').sealed, first);
  });
});
