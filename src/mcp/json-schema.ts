export type JsonSchema = Record<string, unknown>;

/** Characters of one schema as JSON, and how deep it may nest. */
const MAX_SIZE = 32_000;
const MAX_DEPTH = 16;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Keywords whose value is a schema, a list of schemas, and schemas by name (JSON Schema 2020-12 and draft 7). */
const ONE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const MORE_OF_ONE = ['unevaluatedItems', 'unevaluatedProperties', 'additionalItems', 'contentSchema'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const TEXTS = ['title', 'description', '$comment', 'format', 'contentEncoding', 'contentMediaType'];

/**
 * What is wrong with the schema of a tool's input, as a sentence; null for one that models' providers take. A single
 * schema that a provider refuses fails every request it is in, so what is not surely one is none.
 */
export function schemaProblem(schema: unknown): string | null {
  if (!isRecord(schema) || schema['type'] !== 'object')
    return 'The schema of its input is not one of an object.';
  if (isTooLarge(schema)) {
    return `The schema of its input is too large: up to ${MAX_SIZE} characters and ${MAX_DEPTH} levels are read.`;
  }
  const wrong = wrongIn(schema, '');
  return wrong === null ? null : `The schema of its input is not valid: ${wrong}.`;
}

/** Looks at no more than it has to, and calls nothing within itself: the schema is a stranger's. */
function isTooLarge(schema: JsonSchema): boolean {
  // Members and their schemas lie one in the other: each level of the schema is two of the JSON.
  const left: [value: unknown, depth: number][] = [[schema, 0]];
  let size = 0;
  for (let next = left.pop(); next; next = left.pop()) {
    const [value, depth] = next;
    size += typeof value === 'string' ? value.length + 2 : 1;
    if (size > MAX_SIZE || depth > 2 * MAX_DEPTH) return true;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      size += name.length + 4;
      if (size > MAX_SIZE) return true;
      left.push([member, depth + 1]);
    }
  }
  return false;
}

/** What is wrong, and where; null for a schema. */
function wrongIn(schema: unknown, at: string): string | null {
  if (typeof schema === 'boolean') return null;
  if (!isRecord(schema)) return `${at || 'it'} is no schema`;
  return wrongKeyword(schema, at) ?? wrongBelow(schema, at);
}

function wrongKeyword(schema: JsonSchema, at: string): string | null {
  const wrong = (keyword: string): string => `${at}/${keyword} has a wrong value`;
  const is = (keyword: string, fits: (value: unknown) => boolean): boolean =>
    schema[keyword] === undefined || fits(schema[keyword]);
  const checks: [readonly string[], (value: unknown) => boolean][] = [
    [['type'], isType],
    [['enum'], (value) => Array.isArray(value) && value.length > 0],
    [['required'], isStrings],
    [['pattern'], isPattern],
    [['$ref', '$dynamicRef'], (value) => typeof value === 'string' && value.startsWith('#')],
    [COUNTS, (value) => Number.isInteger(value) && Number(value) >= 0],
    [NUMBERS, (value) => typeof value === 'number' && Number.isFinite(value)],
    [TEXTS, (value) => typeof value === 'string'],
  ];
  for (const [keywords, fits] of checks) {
    const found = keywords.find((keyword) => !is(keyword, fits));
    if (found !== undefined) return wrong(found);
  }
  return null;
}

function wrongBelow(schema: JsonSchema, at: string): string | null {
  for (const keyword of [...ONE, ...MORE_OF_ONE]) {
    const value = schema[keyword];
    if (value === undefined) continue;
    // Up to draft 2019 `items` may be a list.
    const list = keyword === 'items' && Array.isArray(value) ? value : [value];
    for (const one of list) {
      const wrong = wrongIn(one, `${at}/${keyword}`);
      if (wrong !== null) return wrong;
    }
  }
  for (const keyword of LISTS) {
    const value = schema[keyword];
    if (value === undefined) continue;
    if (!Array.isArray(value) || value.length === 0) return `${at}/${keyword} has a wrong value`;
    for (const [n, one] of value.entries()) {
      const wrong = wrongIn(one, `${at}/${keyword}/${n}`);
      if (wrong !== null) return wrong;
    }
  }
  for (const keyword of BY_NAME) {
    const value = schema[keyword];
    if (value === undefined) continue;
    if (!isRecord(value)) return `${at}/${keyword} has a wrong value`;
    for (const [name, one] of Object.entries(value)) {
      const wrong = wrongIn(one, `${at}/${keyword}/${name}`.slice(0, 200));
      if (wrong !== null) return wrong;
    }
  }
  return null;
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isType(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isType);
  return typeof value === 'string' && TYPES.has(value);
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
