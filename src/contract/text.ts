import { z } from 'zod';
import { Secret } from '../secrets/secret.ts';

/** NUL cannot be stored by PostgreSQL, and a lone surrogate would come back as another character. */
const storable = (value: string): boolean => !value.includes('\0') && value.isWellFormed();
export const STORABLE = 'must not contain NUL or broken Unicode';

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Free text of at most `max` UTF-16 units. */
export function text(max: number) {
  return z.string().max(max, `must be at most ${max} characters long`).refine(storable, STORABLE);
}

/** A value of any form, at most as deep as a body may be: what it says, and how its members are called. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return storable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => storable(name) && isStorable(item));
}

/** Text of one line, for names and other values that end up in a header, a configuration file or a command. */
export function line(max: number) {
  return z
    .string()
    .max(max, `must be at most ${max} characters long`)
    .refine(
      (value) => value.isWellFormed() && !CONTROL.test(value),
      'must be one line without control characters',
    );
}

/** A value that is a {@link Secret} from here on. `""` stays, and means: clear what is stored. */
export function secretText(max = 10_000) {
  return text(max)
    .meta({ format: 'password', writeOnly: true })
    .transform((value) => new Secret(value));
}

// A header carries bytes, not characters (RFC 9110, 5.5): fetch refuses any other, but only when it is used.
// oxlint-disable-next-line no-control-regex -- from the first character there is
const OF_BYTES = /^[\u0000-\u00ff]*$/;

/** A {@link secretText} that is sent in a header: one line. Blanks alone are no secret, but what `""` is. */
export function secretLine(max = 10_000) {
  return line(max)
    .regex(OF_BYTES, 'must have no characters that a header cannot carry')
    .meta({ format: 'password', writeOnly: true })
    .transform((value) => new Secret(value.trim() === '' ? '' : value));
}

/** The name of an environment variable. `__proto__` is one too, but not a member that objects can have. */
export function variableName() {
  return z
    .string()
    .max(255, 'must be at most 255 characters long')
    .regex(
      /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/,
      'must be a variable name: letters, digits and "_", not beginning with a digit',
    );
}

/** An absolute http or https address without a user name or password in it. */
export function httpUrl(max = 2_000) {
  return line(max).refine(isHttpUrl, 'must be an absolute http or https URL without a user name or password');
}

export function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  if (!url) return false;
  const { protocol, username, password, hostname } = url;
  return (
    (protocol === 'http:' || protocol === 'https:') && username === '' && password === '' && hostname !== ''
  );
}

/** The empty string clears a string member: pages written for V0 send it for "not set". */
export const cleared = z.literal('');
