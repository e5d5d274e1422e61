import { z } from 'zod';

/** Which members a schema knows, at every level; null where a value has none of its own. */
export type KnownMembers =
  | { kind: 'object'; members: ReadonlyMap<string, KnownMembers> }
  | { kind: 'each'; of: KnownMembers }
  | null;

/**
 * Reads the members off a schema, once. Where forms differ (a string or an object) the one with members counts.
 * @param besides known at the outermost level too
 */
export function knownMembers(schema: z.core.$ZodType, besides: readonly string[] = []): KnownMembers {
  if (schema instanceof z.ZodObject) {
    const shape: Record<string, z.core.$ZodType> = schema.shape;
    const members = new Map<string, KnownMembers>(besides.map((name) => [name, null]));
    for (const [name, member] of Object.entries(shape)) members.set(name, knownMembers(member));
    return { kind: 'object', members };
  }
  if (schema instanceof z.ZodArray) return each(schema.element);
  if (schema instanceof z.ZodRecord) return each(schema.valueType);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return knownMembers(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return knownMembers(schema.in);
  if (schema instanceof z.ZodUnion) {
    return schema.options.map((option) => knownMembers(option)).find((known) => known !== null) ?? null;
  }
  return null;
}

function each(schema: z.core.$ZodType): KnownMembers {
  const of = knownMembers(schema);
  return of && { kind: 'each', of };
}

/** More names than this help nobody, and a name is as long as its sender likes. */
const MOST_NAMES = 100;
const LONGEST_NAME = 200;

/** The members of a parsed JSON value that the schema does not know, as dotted paths in their order. */
export function unknownMembers(known: KnownMembers, value: unknown): string[] {
  const found: string[] = [];
  collect(known, value, '', found);
  return found;
}

function collect(known: KnownMembers, value: unknown, path: string, found: string[]): void {
  if (known === null || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (known.kind === 'object') return;
    for (const [index, item] of value.entries()) collect(known.of, item, `${path}${index}.`, found);
    return;
  }
  // As with Object.keys, for what JSON.parse made, but without an array of names for each object of each request.
  for (const name in value) {
    const member = known.kind === 'each' ? known.of : known.members.get(name);
    if (member === null) continue;
    if (member !== undefined) {
      collect(member, (value as Record<string, unknown>)[name], `${path}${name}.`, found);
    } else if (found.length < MOST_NAMES) {
      found.push(`${path}${name}`.slice(0, LONGEST_NAME));
    }
  }
}
