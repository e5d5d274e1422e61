import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { knownMembers, unknownMembers } from './known-members.ts';

const server = z.object({ url: z.string() });
const schema = z.object({
  plain: z.string().nullish(),
  list: z.array(z.union([z.string().transform((url) => ({ url })), server])).nullish(),
  map: z.record(z.string(), server.nullable()).default({}),
});
const known = knownMembers(schema, ['read_only']);

test('what the schema names is known, at every level and in every form', () => {
  const body = {
    plain: { any: 1 },
    list: ['x', { url: 'x' }],
    map: { any: { url: 'x' } },
    read_only: { x: 1 },
  };
  assert.deepEqual(unknownMembers(known, body), []);
});

test('all else is named by its path', () => {
  const body = { a: 1, list: ['x', { url: 'x', b: 1 }], map: { any: { c: 1 }, none: null } };
  assert.deepEqual(unknownMembers(known, body), ['a', 'list.1.b', 'map.any.c']);
  assert.deepEqual(unknownMembers(known, { map: [{ c: 1 }], list: { any: { b: 1 } } }), [
    'map.0.c',
    'list.any.b',
  ]);
});

test('names of object members are not known', () => {
  assert.deepEqual(unknownMembers(known, { constructor: 1, toString: 1 }), ['constructor', 'toString']);
});

test('a value of another shape has no members to name', () => {
  for (const body of [undefined, null, 'text', [{ a: 1 }], { list: 'x', map: [] }]) {
    assert.deepEqual(unknownMembers(known, body), []);
  }
});

test('a hundred names are enough, and each is cut', () => {
  const body = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${i}x`.padEnd(10_000, 'x'), 1]));
  const names = unknownMembers(known, body);
  assert.equal(names.length, 100);
  assert.ok(names.every((name) => name.length <= 200));
});
