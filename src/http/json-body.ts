import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import type { MemberError } from '../errors.ts';
import { MAX_DEPTH } from '../nesting.ts';
import { invalidRequest } from './validation.ts';

/** Bodies are JSON in UTF-8 and nothing else. An empty one is no body: a route that needs one says so. */
export function acceptJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, bytes.length === 0 ? undefined : parseJson(bytes));
    } catch (error) {
      done(error instanceof Error ? error : new Error('JSON.parse threw no Error'));
    }
  });
}

/** @throws ServiceError `invalid_request`. A member given twice has its last value, as in every JSON parser. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformed('is not valid UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // The parser's own message repeats part of the text, which may be a secret: only the position is taken.
    const position = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    throw malformed(`is not valid JSON${position === undefined ? '' : ` (at character ${position})`}`);
  }
  checkShape(value, 'body');
  return value;
}

/**
 * Refuses nesting that later recursion could not walk, and `__proto__`, which most code cannot tell from a prototype.
 * @param name what the value is called where it is refused
 * @throws ServiceError `invalid_request`
 */
export function checkShape(root: unknown, name: string): void {
  const faults: MemberError[] = [];
  const loc: (string | number)[] = [name];
  const enter = (item: unknown, key: string | number): void => {
    if (typeof item !== 'object' || item === null) return;
    loc.push(key);
    walk(item);
    loc.pop();
  };
  const walk = (value: object): void => {
    if (loc.length > MAX_DEPTH) throw malformed(`is nested deeper than ${MAX_DEPTH} levels`, name);
    if (Array.isArray(value)) return value.forEach(enter);
    // As with Object.keys, for what JSON.parse made, but without an array of names for each object of each request.
    for (const key in value) {
      if (key === '__proto__')
        faults.push({ loc: [...loc, key], msg: 'is not a known member', type: 'extra_forbidden' });
      else enter((value as Record<string, unknown>)[key], key);
    }
  };
  if (typeof root === 'object' && root !== null) walk(root);
  if (faults.length > 0) throw invalidRequest(faults);
}

function malformed(msg: string, name = 'body'): Error {
  return invalidRequest([{ loc: [name], msg, type: 'json_invalid' }]);
}
