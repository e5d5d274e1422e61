import * as contract from '../../contract/git.ts';
import type { PageOf } from '../../git/git-provider.ts';
import type { UserRepositories } from '../../repositories/user-repositories.ts';
import { GIT_TAGS as tags, NO_ANSWER, NO_REPOSITORY, NOT_VALID, withFailures } from './git-answers.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

const SEVERAL =
  'All providers whose tokens are stored are asked side by side. Where some fail, the others answer, and the header X-Provider-Failures names those that failed: a JSON array of `{provider, code, detail}`.';

/** A page when one is asked for; V0's clients get all when they ask for none. */
function wantedPage(query: { page?: number | undefined; per_page?: number | undefined }): PageOf | null {
  if (query.page === undefined && query.per_page === undefined) return null;
  return { page: query.page ?? 1, perPage: query.per_page ?? 30 };
}

/** What the user has at the git providers, and what there is to do. */
export function gitRoutes(service: UserRepositories): Routes {
  return (server, _options, done) => {
    server.get('/api/user/info', {
      schema: {
        tags,
        summary: 'Who one is at the git provider',
        description: `The first provider that says so, in the order github, gitlab, bitbucket, azure_devops, forgejo. ${SEVERAL}`,
        response: { 200: contract.gitUser, ...NO_ANSWER },
      },
      handler: async ({ principal }, reply) =>
        withFailures(reply, await service.whoAmI(principal, untilGone(reply))),
    });

    server.get('/api/user/installations', {
      schema: {
        tags,
        summary: 'The organisations, groups or workspaces at a git provider',
        querystring: contract.installationsQuery,
        response: { 200: contract.ownerIds, ...NO_ANSWER, ...NOT_VALID },
      },
      handler: async ({ principal, query }, reply) =>
        withFailures(reply, await service.owners(principal, query.provider, untilGone(reply))),
    });

    server.get('/api/user/repositories', {
      schema: {
        tags,
        summary: 'The repositories one can work on',
        description: `Kept for a minute, or until a token changes. ${SEVERAL} The header Link names the next page.`,
        querystring: contract.repositoriesQuery,
        response: { 200: contract.repositoryList, ...NO_ANSWER, ...NOT_VALID },
      },
      handler: async ({ principal, query, url }, reply) => {
        const { page, per_page, ...which } = query;
        const wanted = wantedPage({ page, per_page });
        const found = await service.repositories(principal, which, wanted, untilGone(reply));
        const { items, more } = withFailures(reply, found);
        if (!more) return [...items];
        if (wanted === null) {
          reply.header('x-has-more', 'true');
          return [...items];
        }
        const link = nextPage(url, wanted);
        reply.header('link', link);
        return items.map((item) => ({ ...item, link_header: link }));
      },
    });

    server.get('/api/user/search/repositories', {
      schema: {
        tags,
        summary: 'Find repositories by name or address',
        description: `Kept for a minute, or until a token changes. ${SEVERAL}`,
        querystring: contract.searchQuery,
        response: { 200: contract.repositoryList, ...NO_ANSWER, ...NOT_VALID },
      },
      handler: async ({ principal, query }, reply) => {
        const { items, more } = withFailures(reply, await service.search(principal, query, untilGone(reply)));
        if (more) reply.header('x-has-more', 'true');
        return [...items];
      },
    });

    server.get('/api/user/repository/branches', {
      schema: {
        tags,
        summary: 'The branches of a repository',
        querystring: contract.branchesQuery,
        response: { 200: contract.branches, ...NO_ANSWER, ...NO_REPOSITORY, ...NOT_VALID },
      },
      handler: async ({ principal, query }, reply) => {
        const of = { repository: query.repository, query: null, selected: query.selected_provider };
        const wanted = wantedPage(query);
        const found = await service.branches(principal, of, wanted, untilGone(reply));
        const { items, more, total } = withFailures(reply, found);
        if (wanted === null) {
          if (more) reply.header('x-has-more', 'true');
          return [...items];
        }
        return {
          branches: [...items],
          has_next_page: more,
          current_page: wanted.page,
          per_page: wanted.perPage,
          total_count: total,
        };
      },
    });

    server.get('/api/user/search/branches', {
      schema: {
        tags,
        summary: 'Find branches of a repository by name',
        querystring: contract.searchBranchesQuery,
        response: { 200: contract.branchList, ...NO_ANSWER, ...NO_REPOSITORY, ...NOT_VALID },
      },
      handler: async ({ principal, query }, reply) => {
        const of = { repository: query.repository, query: query.query, selected: query.selected_provider };
        const wanted = { page: 1, perPage: query.per_page ?? 30 };
        const found = await service.branches(principal, of, wanted, untilGone(reply));
        const { items, more } = withFailures(reply, found);
        if (more) reply.header('x-has-more', 'true');
        return [...items];
      },
    });

    server.get('/api/user/suggested-tasks', {
      schema: {
        tags,
        summary:
          'What there is to do: own open requests that something keeps from being merged, assigned issues',
        description: `Nothing, and nobody is asked, while \`enable_proactive_conversation_starters\` is off. ${SEVERAL}`,
        response: { 200: contract.suggestedTasks, ...NO_ANSWER },
      },
      handler: async ({ principal }, reply) =>
        withFailures(reply, await service.suggestedTasks(principal, untilGone(reply))),
    });

    done();
  };
}

/** RFC 8288. Clients written for V0 look for `page` at the end. */
function nextPage(url: string, { page, perPage }: PageOf): string {
  const [path = '', query = ''] = url.split('?', 2);
  const next = new URLSearchParams(query);
  next.set('per_page', String(perPage));
  next.delete('page');
  next.append('page', String(page + 1));
  return `<${path}?${next.toString()}>; rel="next"`;
}
