import * as fc from 'fast-check';
import type { Operation, Schema } from './document.ts';
import { IDS, fitting, nearlyFitting, wildText, wildValue } from './values.ts';

/** One request, as it goes over a socket. */
export interface HostileRequest {
  operation: Operation;
  /** Whose key it has; null for no key that counts. */
  user: string | null;
  path: string;
  headers: [name: string, value: string][];
  body: Buffer | null;
}

const TYPES = [
  'application/json; charset=utf-8',
  'application/json;charset=utf-16',
  'APPLICATION/JSON',
  'application/problem+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/json, text/plain',
  '/',
  '',
  '"',
  'application/json; charset="',
];

const ODD_HEADERS: [string, string][] = [
  ['host', 'elsewhere.example'],
  ['host', 'localhost:99999'],
  ['host', '[::1]'],
  ['host', 'localhost/../x'],
  ['x-forwarded-for', '1.2.3.4, 5.6.7.8'],
  ['x-forwarded-for', 'unknown'],
  ['x-forwarded-host', 'elsewhere.example'],
  ['x-forwarded-host', ''],
  ['x-forwarded-proto', 'https'],
  ['x-forwarded-proto', 'javascript'],
  ['forwarded', 'for="_gazonk"'],
  ['x-http-method-override', 'DELETE'],
  ['origin', 'null'],
  ['origin', 'https://elsewhere.example'],
  ['cookie', 'parley_session=nothing'],
  ['cookie', 'parley_session'],
  ['cookie', '=;;=;parley_session=%00'],
  ['authorization', 'Basic Og=='],
  ['authorization', 'Bearer'],
  ['accept', 'text/html;q=nan'],
  ['accept-encoding', 'gzip, br, *;q=0'],
  ['accept-version', '9.9.9'],
  ['content-encoding', 'gzip'],
  ['if-none-match', '*'],
  ['if-modified-since', 'yesterday'],
  ['range', 'bytes=0-0,-1'],
  ['last-event-id', '3'],
  ['last-event-id', '-1'],
  ['last-event-id', '999999999'],
  ['x-request-id', 'mine'],
  ['traceparent', '00-0-0-0'],
  ['idempotency-key', 'again'],
  ['idempotency-key', '\xff'],
  ['idempotency-key', 'k'.repeat(300)],
  ['x-empty', ''],
  ['x-long', 'v'.repeat(8_000)],
];

/** Bodies that are no JSON, or JSON that is none of ours. */
const RAW_BODIES: Buffer[] = [
  '',
  ' ',
  '{',
  '{"a":1e999}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '{"\\u005f\\u005fproto\\u005f\\u005f":1}',
  '\ufeff{}',
  'null',
  '[]',
  '"text"',
  '1'.repeat(400),
  '['.repeat(3_000),
  '{"a":'.repeat(200) + '1' + '}'.repeat(200),
  '{"message":"\\ud800"}',
  '--x\r\ncontent-disposition: form-data; name="files"; filename="../x"\r\n\r\nhello\r\n--x--\r\n',
  '--x\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhello',
]
  .map((text) => Buffer.from(text))
  .concat([
    Buffer.from([0xff, 0xfe, 0x7b]),
    Buffer.from('{"message":"\xe9"}', 'latin1'),
    Buffer.alloc(2_000),
  ]);

/** Requests of the users: most almost right, so that they come far, the others not at all. */
export function hostileRequests(
  operations: readonly Operation[],
  keys: ReadonlyMap<string, string>,
): fc.Arbitrary<HostileRequest> {
  // As often as there are routes, whatever each of them takes.
  return fc.oneof(...operations.map((operation) => requestsOf(operation, keys)));
}

function requestsOf(operation: Operation, keys: ReadonlyMap<string, string>): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      user: fc.oneof(
        { weight: 17, arbitrary: fc.constantFrom<string | null>(...keys.keys()) },
        { weight: 3, arbitrary: fc.constant(null) },
      ),
      path: pathOf(operation),
      query: queryOf(operation),
      given: headersOf(operation),
      odd: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(fc.constantFrom(...ODD_HEADERS), { maxLength: 3 }) },
      ),
      body: bodyOf(operation, [...keys.values()]),
    })
    .map(({ user, path, query, given, odd, body }) => {
      const key = user === null ? null : (keys.get(user) ?? null);
      const headers: [string, string][] = [...given, ...odd];
      if (body?.type !== undefined) headers.unshift(['content-type', body.type]);
      if (key !== null) headers.push(['x-session-api-key', key]);
      return shown({
        operation,
        user,
        path: `${path}${query}`,
        headers: headers.filter(once()),
        body: body?.bytes ?? null,
      });
    });
}

/** For the report of a failure: the line and what followed, without the whole route. */
function shown(request: HostileRequest): HostileRequest {
  const { operation, path, headers, body } = request;
  const said = body?.toString('latin1').slice(0, 2_000) ?? null;
  const text = JSON.stringify({ method: operation.method, path, headers, body: said });
  return Object.defineProperty(request, fc.toStringMethod, { value: () => text });
}

/** What Node joins or refuses when it comes twice, comes once here; raw bytes try the rest. */
function once(): (header: [string, string]) => boolean {
  const seen = new Set<string>();
  return ([name]) => !seen.has(name) && seen.add(name) !== undefined;
}

function pathOf({ method, path, parameters }: Operation): fc.Arbitrary<string> {
  const names = parameters.filter(({ in: where }) => where === 'path').map(({ name }) => name);
  const value = fc.oneof(
    // Some are never removed, so that there is something to ask for.
    { weight: 6, arbitrary: fc.constantFrom(...(method === 'DELETE' ? IDS.slice(-2) : IDS)) },
    // A dot or two would be another path, and an empty part another route.
    { weight: 1, arbitrary: wildText.map(encoded).filter((text) => !/^\.{0,2}$/.test(text)) },
  );
  return fc
    .tuple(...names.map(() => value))
    .map((values) =>
      names.reduce((made, name, at) => made.replace(`{${name}}`, () => values[at] ?? ''), path),
    );
}

function queryOf({ parameters }: Operation): fc.Arbitrary<string> {
  const known = parameters.filter(({ in: where }) => where === 'query');
  const pair = (name: string, schema: Schema): fc.Arbitrary<string> =>
    fc
      .oneof({ weight: 3, arbitrary: fitting(schema).map(String) }, { weight: 1, arbitrary: wildText })
      .map((value) => `${name}=${encoded(value)}`);
  const pairs = known.map(({ name, schema }) => pair(name, schema));
  const odd = fc.constantFrom(
    'a=b',
    '__proto__=1',
    '%',
    '=',
    '&&',
    '[]=1',
    'limit[]=1',
    'limit[__proto__]=1',
  );
  return fc
    .array(fc.oneof(...pairs, ...(pairs.length > 0 ? [pairs[0] ?? odd] : []), odd), { maxLength: 3 })
    .map((parts) => (parts.length === 0 ? '' : `?${parts.join('&')}`));
}

function headersOf({ parameters }: Operation): fc.Arbitrary<[string, string][]> {
  const known = parameters.filter(({ in: where }) => where === 'header').map(({ name }) => name);
  const value = fc.constantFrom('again', 'another', ' ', 'k'.repeat(255), 'k'.repeat(256));
  return fc.array(fc.tuple(fc.constantFrom(...known, 'x-more'), value), { maxLength: 1 });
}

function bodyOf(
  { method, body }: Operation,
  keys: readonly string[],
): fc.Arbitrary<{ type?: string; bytes: Buffer } | null> {
  const json = (value: unknown): { type: string; bytes: Buffer } => ({
    type: 'application/json',
    bytes: Buffer.from(JSON.stringify(value) ?? ''),
  });
  const odd = fc
    .tuple(fc.option(fc.constantFrom('application/json', ...TYPES)), fc.constantFrom(...RAW_BODIES))
    .map(([type, bytes]) => ({ bytes, ...(type !== null && { type }) }));
  if (body === null)
    return fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: odd });
  if (method === 'GET') throw new Error('no route of ours reads with a body');
  if (body.type !== 'application/json') return fc.oneof(odd, form(body.type));
  const schema = body.schema;
  const right = fc.oneof(fitting(schema), fitting(schema), withKey(schema, keys));
  return fc.oneof(
    { weight: 5, arbitrary: right.map(json) },
    { weight: 4, arbitrary: nearlyFitting(schema).map(json) },
    { weight: 1, arbitrary: wildValue.map(json) },
    { weight: 1, arbitrary: odd },
  );
}

/** A log-in with a key that counts. */
function withKey(schema: Schema, keys: readonly string[]): fc.Arbitrary<unknown> {
  return schema.properties?.['key'] ? fc.constantFrom(...keys).map((key) => ({ key })) : fitting(schema);
}

function form(type: string): fc.Arbitrary<{ type: string; bytes: Buffer }> {
  const part = fc
    .tuple(wildText, wildText, wildText)
    .map(([name, file, content]) =>
      [
        `--x`,
        `content-disposition: form-data; name="${bare(name)}"; filename="${bare(file)}"`,
        '',
        content,
      ].join('\r\n'),
    );
  return fc.array(part, { maxLength: 3 }).map((parts) => ({
    type: `${type}; boundary=x`,
    bytes: Buffer.from([...parts, '--x--', ''].join('\r\n')),
  }));
}

const bare = (text: string): string => text.replace(/[\r\n"]/g, '_');

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed().slice(0, 1_000));
}
