import { z } from 'zod';
import {
  contentQuery,
  microagentContent,
  microagentList,
  repositoryName,
  repositoryParams,
} from '../../contract/git.ts';
import { problems } from '../../contract/problem.ts';
import type { UserRepositories } from '../../repositories/user-repositories.ts';
import { GIT_TAGS, NO_ANSWER, NO_REPOSITORY, NOT_VALID, withFailures } from './git-answers.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

/** GitLab nests groups twenty deep. */
const MOST_LEVELS = 21;

const NO_FILE = problems({
  404: 'No git provider shows such a repository, or such a file in it.',
  413: 'The file is too large to be shown.',
});

/** The parts of a path, in their order. */
const levels = z
  .record(z.string(), z.string())
  .transform((parts) => ({ repository_name: Object.values(parts).join('/') }))
  .pipe(z.object({ repository_name: repositoryName }));

/** What repositories at git providers tell agents who work on them. */
export function microagentRoutes(service: UserRepositories): Routes {
  return (server, _options, done) => {
    // The slashes of a name come as %2F, which is what is described, or as they stand, as clients of V0 send them.
    for (let count = 1; count <= MOST_LEVELS; count += 1) {
      const hide = count > 1;
      const path = hide ? Array.from({ length: count }, (_, n) => `:part${n}`).join('/') : ':repository_name';
      const params = hide ? levels : repositoryParams;

      server.get(`/api/user/repository/${path}/microagents`, {
        exposeHeadRoute: !hide,
        schema: {
          hide,
          tags: GIT_TAGS,
          summary: 'The microagents of a repository',
          description: 'On its default branch; those that a conversation on it would be told.',
          params,
          response: { 200: microagentList, ...NO_ANSWER, ...NO_REPOSITORY, ...NOT_VALID },
        },
        handler: async (request, reply) => {
          const { repository_name: repository } = request.params;
          const found = await service.microagents(request.principal, repository, untilGone(reply));
          return withFailures(reply, found);
        },
      });

      server.get(`/api/user/repository/${path}/microagents/content`, {
        exposeHeadRoute: !hide,
        schema: {
          hide,
          tags: GIT_TAGS,
          summary: 'One microagent of a repository',
          params,
          querystring: contentQuery,
          response: { 200: microagentContent, ...NO_ANSWER, ...NO_FILE, ...NOT_VALID },
        },
        handler: async (request, reply) => {
          const { repository_name: repository } = request.params;
          const { file_path: file } = request.query;
          const found = await service.microagent(request.principal, repository, file, untilGone(reply));
          return withFailures(reply, found);
        },
      });
    }
    done();
  };
}
