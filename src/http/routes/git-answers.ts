import type { FastifyReply } from 'fastify';
import { problems } from '../../contract/problem.ts';
import type { Found } from '../../repositories/asking.ts';

export const GIT_TAGS = ['git providers'];

/** What every question to git providers may be answered. */
export const NO_ANSWER = problems({
  401: 'No valid key, no token of a git provider, or one that it refuses.',
  403: 'The git provider does not allow it with this token.',
  424: 'A git provider gave no answer.',
  429: 'Too many requests, here or for the git provider.',
});
export const NOT_VALID = problems({ 422: 'A member of the path or the query is not valid.' });
export const NO_REPOSITORY = problems({ 404: 'No git provider shows such a repository.' });

/** Of all providers together, each character escaped, it stays below what clients take as headers: 16 KiB. */
const LONGEST_DETAIL = 300;

/** Who could not be asked stands in a header: the bodies are V0's. */
export function withFailures<T>(reply: FastifyReply, { value, failures }: Found<T>): T {
  if (failures.length === 0) return value;
  const shown = failures.map(({ provider, code, detail }) => {
    return { provider, code, detail: detail.slice(0, LONGEST_DETAIL) };
  });
  reply.header('x-provider-failures', inAscii(JSON.stringify(shown)));
  const named = failures.map(({ provider, code }) => ({ provider, code }));
  reply.log.warn({ failures: named }, 'git providers failed');
  return value;
}

/** In JSON each character has a form that a header carries safely. */
function inAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
