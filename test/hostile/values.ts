import * as fc from 'fast-check';
import type { Schema } from './document.ts';

/** Texts that mean something somewhere: what a rule asks for, and what a careless program trips over. */
const TEXTS = [
  '',
  'a',
  'main',
  'owner/name',
  'openai/scripted',
  'https://models.example/v1',
  'http://127.0.0.1:1/v1',
  'data:image/png;base64,AAAA',
  'tvly-a-long-enough-key',
  'a-secret-value-0123456789',
  'A_NAME',
  '[]',
  '[{"action":"message","args":{"content":"x"},"source":"user","message":"x","id":0,"timestamp":"2026-01-01T00:00:00"}]',
];

/** Few, so that requests meet what earlier ones made. */
export const IDS = ['one', 'two', 'three', 'A_NAME'];

const HOSTILE_TEXTS = [
  '\0',
  'a\0b',
  '\ud800',
  'x\udfffy',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '%00',
  '%2e%2e%2f',
  "'; drop table users; --",
  '{{7*7}}',
  '\u202e\u0000\ufeff',
  '\r\nx-injected: 1',
  'ﬃ'.repeat(300),
  'x'.repeat(70_000),
  '👩‍👩‍👧‍👦'.repeat(50),
  'NaN',
  '-1',
  '1e999',
];

const HOSTILE_VALUES: unknown[] = [
  null,
  true,
  -0,
  -1,
  0.1,
  1e308,
  2 ** 53,
  -(2 ** 63),
  [],
  {},
  [[]],
  [null],
  JSON.parse('{"__proto__":{"admin":true}}'),
  { constructor: { prototype: { admin: true } } },
  { toString: 1, hasOwnProperty: 1, toJSON: 1, length: -1 },
  nested(40),
  nested(150),
  Array.from({ length: 500 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index])),
];

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

export const wildText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS, ...TEXTS),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'binary-ascii', maxLength: 20 }),
);

export const wildValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...HOSTILE_VALUES),
  wildText,
  fc.jsonValue({ maxDepth: 2 }),
);

/** Values that fit the schema. What only the code knows (a branch name, say) they may still break. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms) return fc.oneof(...forms.map(fitting));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => fitting({ ...schema, type })));
  switch (schema.type) {
    case 'object':
      return objectOf(schema);
    case 'array':
      return fc.array(fitting(schema.items ?? {}), { maxLength: Math.min(3, schema.maxItems ?? 3) });
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.oneof(fc.integer(bounds(schema, 1_000)), fc.integer(bounds(schema, Number.MAX_SAFE_INTEGER)));
    case 'number':
      return fc.double({ ...bounds(schema, 1e6), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function bounds({ minimum, maximum }: Schema, most: number): { min: number; max: number } {
  const max = Math.min(maximum ?? most, Math.max(most, minimum ?? 0));
  return { min: Math.max(minimum ?? -most, -most), max };
}

function objectOf({ properties = {}, required = [], ...schema }: Schema): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, fitting(member)] as const),
  );
  const optional = Object.keys(members).filter((name) => !required.includes(name));
  // Many members together seldom fit each other.
  const few = fc
    .tuple(
      fc.record<Record<string, unknown>>(members),
      fc.subarray(optional, { maxLength: Math.min(3, optional.length) }),
    )
    .map(([all, chosen]) => Object.fromEntries([...required, ...chosen].map((name) => [name, all[name]])));
  const known = fc.oneof(few, fc.record<Record<string, unknown>>(members, { requiredKeys: required }));
  const more = schema.additionalProperties;
  if (typeof more !== 'object') return known;
  const names = fitting(schema.propertyNames ?? { type: 'string' }).map(String);
  return fc
    .tuple(known, fc.dictionary(names, fitting(more), { maxKeys: 3 }))
    .map(([one, other]) => ({ ...other, ...one }));
}

function textOf({ pattern, minLength = 0, maxLength = Infinity }: Schema): fc.Arbitrary<string> {
  const fits = (value: string): boolean => value.length >= minLength && value.length <= maxLength;
  if (pattern === undefined) {
    const free = fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 30) });
    const known = TEXTS.filter(fits);
    return known.length > 0 ? fc.oneof(fc.constantFrom(...known), free) : free;
  }
  const known = [...TEXTS, ...IDS, '1', '20', 'github', 'b25l'].filter(
    (value) => fits(value) && new RegExp(pattern, 'u').test(value),
  );
  // fast-check makes no texts for a lookahead; such a name is met seldom enough.
  const made = fc
    .stringMatching(new RegExp(pattern.replace(/\(\?!.*?\)/g, '')), { size: 'small' })
    .filter(fits);
  return known.length > 0 ? fc.oneof(fc.constantFrom(...known), made) : made;
}

/** A fitting value with one thing wrong: a member replaced, left out, or one too many. */
export function nearlyFitting(schema: Schema): fc.Arbitrary<unknown> {
  const how = fc.constantFrom('replace', 'remove', 'add');
  return fc
    .tuple(fitting(schema), wildValue, wildText, fc.nat(1_000), how)
    .map(([value, wrong, name, where, what]) => {
      const copy: unknown = structuredClone(value);
      const places = placesIn(copy);
      const place = places[where % Math.max(places.length, 1)];
      if (!place) return wrong;
      if (what === 'remove') Reflect.deleteProperty(place.of, place.name);
      // Defined, not set: `__proto__` is to be a member like any other.
      else define(place.of, what === 'add' ? name : place.name, wrong);
      return copy;
    });
}

function placesIn(value: unknown): { of: object; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [{ of: value, name }, ...placesIn(member)]);
}

function define(object: object, name: string, value: unknown): void {
  if (Array.isArray(object)) object.push(value);
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
