import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import { type KnownMembers, unknownMembers } from '../../contract/known-members.ts';

const ignored = new WeakMap<FastifyRequest, string[]>();

/** Notes which members of the body the route does not know: validation drops them. */
export function noteIgnored(known: KnownMembers): preValidationHookHandler {
  return (request, _reply, done) => {
    const names = unknownMembers(known, request.body);
    if (names.length > 0) ignored.set(request, names);
    done();
  };
}

/** For the reply: the noted members, or nothing. */
export function ignoredMembers(request: FastifyRequest): { ignored?: string[] } {
  const names = ignored.get(request);
  return names ? { ignored: names } : {};
}
