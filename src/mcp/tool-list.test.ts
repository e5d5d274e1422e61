import assert from 'node:assert/strict';
import { test } from 'node:test';

import { schemaProblem } from './json-schema.ts';
import { readTools } from './tool-list.ts';

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });

test('schemas that servers have in fact are taken', () => {
  for (const schema of [
    { type: 'object' },
    object({ a: { type: 'string', pattern: '^[a-z]+$', minLength: 1 } }, { required: ['a'] }),
    object({ a: { type: ['string', 'null'], enum: ['x', null] }, b: true }, { additionalProperties: false }),
    object({ a: { $ref: '#/$defs/A' } }, { $defs: { A: { type: 'array', items: { type: 'integer' } } } }),
    object({ a: { anyOf: [{ type: 'number', minimum: 0 }, { const: 'none' }] } }),
    object({ a: { type: 'array', prefixItems: [{ type: 'string' }], items: false } }),
    object({ type: { type: 'string' }, enum: { type: 'string' }, properties: { type: 'object' } }),
    { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: { format: 'uri', default: 1 } }) },
  ]) {
    assert.equal(schemaProblem(schema), null, JSON.stringify(schema));
  }
});

test('what is no schema of an object, or may be none, is refused with where it is wrong', () => {
  const bad: [schema: unknown, why: RegExp][] = [
    [undefined, /not one of an object/],
    [[], /not one of an object/],
    [{ type: 'string' }, /not one of an object/],
    [object({ a: { type: 'text' } }), /\/properties\/a\/type has a wrong value/],
    [object({ a: 'string' }), /\/properties\/a is no schema/],
    [{ type: 'object', properties: [] }, /\/properties has a wrong value/],
    [{ type: 'object', required: 'a' }, /\/required/],
    [object({ a: { pattern: '(' } }), /\/pattern/],
    [object({ a: { enum: [] } }), /\/enum/],
    [object({ a: { anyOf: [] } }), /\/anyOf/],
    [object({ a: { oneOf: [{ type: 'string' }, 3] } }), /\/oneOf\/1 is no schema/],
    [object({ a: { $ref: 'https://elsewhere.example/schema' } }), /\$ref/],
    [object({ a: { minimum: '1' } }), /\/minimum/],
    [object({ a: { description: 'x'.repeat(40_000) } }), /too large/],
    [object(Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`m${n}`, true]))), /too large/],
    [nested(100_000), /too large/],
  ];
  for (const [schema, why] of bad) assert.match(schemaProblem(schema) ?? '', why);
});

test('tools are taken one by one: what is wrong with one is said, and costs the others nothing', () => {
  const inputSchema = { type: 'object' };
  const { tools, leftOut } = readTools([
    { name: 'first', description: 'It does.', inputSchema },
    null,
    { name: 7, inputSchema },
    { name: 'x'.repeat(1_000), inputSchema },
    { name: 'first', inputSchema },
    { name: 'none' },
    { name: 'rates', inputSchema: object({ security_risk: { type: 'string' } }) },
    { name: 'long', description: 'y'.repeat(10_000), inputSchema },
  ]);
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['first', 'long'],
  );
  assert.ok((tools[1]?.description.length ?? 0) < 4_200);
  assert.match(tools[1]?.description ?? '', /the description has 10000 characters/);
  assert.deepEqual(
    leftOut.map(({ name }) => name.slice(0, 10)),
    ['', '', 'xxxxxxxxxx', 'first', 'none', 'rates'],
  );
  for (const { reason } of leftOut) assert.notEqual(reason, '');
});

function nested(levels: number): object {
  let schema: object = { type: 'object' };
  for (let n = 0; n < levels; n += 1) schema = object({ a: schema });
  return schema;
}
