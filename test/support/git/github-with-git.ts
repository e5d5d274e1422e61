import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type GitServer, type RepositoryContent, startGitServer } from './git-server.ts';
import { startGithub } from './providers/github.ts';
import type { ProviderServer } from './providers/server.ts';
import { TOKENS } from './providers/world.ts';

/** A GitHub of one address, as an Enterprise Server is: its API as `git-providers` plays it, and git itself. */
export interface GithubWithGit extends AsyncDisposable {
  git: GitServer;
  api: ProviderServer;
}

export async function startGithubWithGit(
  repositories: Record<string, RepositoryContent>,
): Promise<GithubWithGit> {
  const api = await startGithub();
  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', headers, url = '/' } = incoming;
    const body = await buffer(incoming);
    const answer = await fetch(`${api.url}${url}`, {
      method,
      headers: {
        'content-type': headers['content-type'] ?? '',
        ...(headers.authorization !== undefined && { authorization: headers.authorization }),
      },
      ...(body.length > 0 && { body }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  };
  const git = await startGitServer({
    repositories,
    accounts: [{ token: TOKENS.good }],
    intercept(incoming, response) {
      if (!incoming.url?.startsWith('/api/')) return false;
      pass(incoming, response).catch(() => response.destroy());
      return true;
    },
  });
  return {
    git,
    api,
    async [Symbol.asyncDispose]() {
      await git.close();
      await api.close();
    },
  };
}
