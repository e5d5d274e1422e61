import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Secret } from './secret.ts';
import { type Binding, type Sealed, Vault, VaultError } from './vault.ts';
import { fc } from '../../test/support/samples.ts';

const vault = new Vault(randomBytes(32));
const BINDING: Binding = ['settings', 'user', 'llm_api_key', 'https://models.example'];
const sealed = vault.seal(new Secret('sk-secret-value'), BINDING);

const refuses = (value: string, binding = BINDING, by = vault) =>
  assert.throws(() => by.open(value as Sealed, binding), VaultError, value);

test('any text comes back as it was sealed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (text) => {
      assert.equal(vault.open(vault.seal(new Secret(text), BINDING), BINDING).unwrap(), text);
    }),
  );
});

test('what is sealed neither has nor repeats what it was made of', () => {
  assert.ok(!Buffer.from(sealed.split('.')[2]!, 'base64url').includes('secret'));
  assert.notEqual(vault.seal(new Secret('sk-secret-value'), BINDING), sealed);
});

test('no two values are sealed with the same initialisation vector', () => {
  const count = 2_000;
  const vectors = Array.from({ length: count }, () => {
    const [, , body] = vault.seal(new Secret('same'), BINDING).split('.');
    return Buffer.from(body!, 'base64url').subarray(0, 12).toString('hex');
  });
  assert.equal(new Set(vectors).size, count);
});

test('a sealed value opens nowhere but where it was sealed for', () => {
  for (const position of BINDING.keys()) {
    const other = BINDING.with(position, 'other') as unknown as Binding;
    refuses(sealed, other);
  }
  // The parts do not run into each other.
  refuses(sealed, ['settings', 'user', 'llm_api_keyhttps', '://models.example']);
});

test('a sealed value of which any bit was changed does not open', () => {
  const [version, keyId, body] = sealed.split('.');
  const bytes = Buffer.from(body!, 'base64url');
  for (const index of bytes.keys()) {
    for (const bit of [1, 128]) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= bit;
      refuses(`${version}.${keyId}.${changed.toString('base64url')}`);
    }
  }
});

test('a sealed value that was cut does not open, whatever its length', () => {
  const [version, keyId, body] = sealed.split('.');
  const bytes = Buffer.from(body!, 'base64url');
  for (let length = 0; length < bytes.length; length += 1) {
    refuses(`${version}.${keyId}.${bytes.subarray(0, length).toString('base64url')}`);
  }
});

test('what is not a sealed value is refused', () => {
  const [, keyId, body] = sealed.split('.');
  for (const value of ['', 'v1', 'v1.', `v1.${keyId}`, `v2.${keyId}.${body}`, 'sk-secret-value'])
    refuses(value);
});

test('another key is told by its id, which does not tell the key', () => {
  const key = randomBytes(32);
  const other = new Vault(key);
  assert.throws(
    () => other.open(sealed, BINDING),
    (error) =>
      error instanceof VaultError &&
      error.message.includes(vault.keyId) &&
      error.message.includes(other.keyId),
  );
  assert.equal(new Vault(key).keyId, other.keyId);
  assert.ok(!key.toString('hex').includes(other.keyId));
  refuses(sealed.replace(vault.keyId, other.keyId), BINDING, other);
});

test('a key must have 32 bytes', () => {
  for (const length of [0, 16, 31, 33]) assert.throws(() => new Vault(Buffer.alloc(length, 1)), VaultError);
});

test('no error of the vault tells the secret', () => {
  const plain = 'v1.sk-secret-value.sk-secret-value';
  assert.throws(
    () => vault.open(plain as Sealed, BINDING),
    (error) => error instanceof VaultError && !String(error.cause).includes('sk-secret'),
  );
});
