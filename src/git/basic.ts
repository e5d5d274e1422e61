import { Secret } from '../secrets/secret.ts';

/** The value of the header Authorization for `user:password` (RFC 7617). */
export function basic(credential: string): Secret {
  return new Secret(`Basic ${Buffer.from(credential).toString('base64')}`);
}
