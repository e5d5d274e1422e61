import type { IncomingMessage, ServerResponse } from 'node:http';
import { type GitServer, type RepositoryContent, startGitServer } from './git-server.ts';

/** A provider token that no other text looks like. */
export const GIT_TOKEN = 'ghp_Tf7Qk2Lw9ZxV4mN8pRb3';

/** A git server that also answers who a token belongs to, as GitHub does: what a user stores as the host. */
export function startForge(
  repositories: Record<string, RepositoryContent>,
  allowed?: readonly string[],
): Promise<GitServer> {
  return startGitServer({
    repositories,
    accounts: [{ token: GIT_TOKEN, ...(allowed && { repositories: allowed }) }],
    intercept: whoIs,
  });
}

function whoIs(incoming: IncomingMessage, response: ServerResponse): boolean {
  if (incoming.url !== '/api/v3/user') return false;
  const known = incoming.headers.authorization === `Bearer ${GIT_TOKEN}`;
  response
    .writeHead(known ? 200 : 401, { 'content-type': 'application/json' })
    .end(JSON.stringify(known ? { login: 'ann', id: 1 } : { message: 'Bad credentials' }));
  return true;
}
