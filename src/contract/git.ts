import { z } from 'zod';
import { suggestedTask } from './conversations.ts';
import { providerName } from './providers.ts';
import { line } from './text.ts';

/** What is asked of git providers with the user's tokens, in V0's shapes. */

export const gitUser = z.object({
  id: z.string(),
  login: z.string(),
  avatar_url: z.string().describe('"" where the provider has none.'),
  company: z.string().nullable(),
  name: z.string().nullable(),
  email: z.string().nullable(),
});
export type GitUser = z.output<typeof gitUser>;

export const repositoryView = z.object({
  id: z.string(),
  full_name: z.string(),
  git_provider: providerName,
  is_public: z.boolean(),
  stargazers_count: z.int().nullable(),
  link_header: z.string().nullable().describe('The header Link of this answer: where the next page is.'),
  pushed_at: z.string().nullable(),
  owner_type: z.enum(['user', 'organization']).nullable(),
  main_branch: z.string().nullable(),
});
export type RepositoryView = z.output<typeof repositoryView>;
export const repositoryList = z.array(repositoryView);

export const ownerIds = z.array(z.string());

export const branchView = z.object({
  name: z.string(),
  commit_sha: z.string(),
  protected: z.boolean(),
  last_push_date: z.string().nullable(),
});
export type BranchView = z.output<typeof branchView>;
export const branchList = z.array(branchView);

const branchPage = z.object({
  branches: branchList,
  has_next_page: z.boolean(),
  current_page: z.int(),
  per_page: z.int(),
  total_count: z.int().nullable().describe('Null where the provider does not say.'),
});
export const branches = z
  .union([branchList, branchPage])
  .describe('A list of all; a page of them, as V0 has it since 0.55, when `page` or `per_page` is given.');

/** A file that is told to agents who work on the repository. */
export const microagentEntry = z.object({
  name: z.string(),
  path: z.string(),
  created_at: z.iso
    .datetime({ offset: true })
    .describe('When the repository was last pushed to: the file is not newer.'),
  git_provider: providerName,
});
export type MicroagentEntry = z.output<typeof microagentEntry>;
export const microagentList = z.array(microagentEntry);

export const microagentContent = z.object({
  content: z.string().describe('What agents are told, without the head of the file.'),
  path: z.string(),
  triggers: z.array(z.string()),
  git_provider: providerName,
});
export type MicroagentContent = z.output<typeof microagentContent>;

export const suggestedTasks = z.array(suggestedTask);

const MOST_PER_PAGE = 100;

const pageNumber = z
  .string()
  .regex(/^[1-9][0-9]{0,4}$/, 'must be a number from 1 to 99999')
  .transform(Number)
  .describe('Counted from 1.');
const perPage = z
  .string()
  .regex(/^[1-9][0-9]{0,4}$/, 'must be a number from 1 to 99999')
  .transform((value) => Math.min(Number(value), MOST_PER_PAGE))
  .describe(`At most ${MOST_PER_PAGE}.`);
const page = pageNumber.optional();
export const repositoryName = line(500)
  .min(1)
  .describe('`owner/name`; more levels where the provider has them.');
const selected = providerName.optional().describe('Ask this provider alone.');

export const installationsQuery = z.object({ provider: providerName });

export const repositoriesQuery = z.object({
  sort: z.enum(['pushed', 'updated', 'created', 'full_name']).optional().describe('`pushed` when not given.'),
  selected_provider: selected,
  page: page.describe('Without `page` and `per_page` all are given, up to 1,000 of each provider.'),
  per_page: perPage.optional(),
  installation_id: line(255).optional().describe('Only of this owner: one that `installations` gives.'),
});
export type RepositoriesQuery = z.output<typeof repositoriesQuery>;

export const searchQuery = z.object({
  query: line(500).describe('A part of the name, or the address of a repository.'),
  per_page: perPage.optional().describe('5 when not given.'),
  sort: z.enum(['stars', 'updated']).optional().describe('`stars` when not given.'),
  order: z.enum(['asc', 'desc']).optional().describe('`desc` when not given.'),
  selected_provider: selected,
});
export type SearchQuery = z.output<typeof searchQuery>;

export const branchesQuery = z.object({
  repository: repositoryName,
  page,
  per_page: perPage.optional(),
  selected_provider: selected,
});

export const searchBranchesQuery = z.object({
  repository: repositoryName,
  query: line(255).describe('A part of the name.'),
  per_page: perPage.optional().describe('30 when not given.'),
  selected_provider: selected,
});

export const repositoryParams = z.object({ repository_name: repositoryName });
export const contentQuery = z.object({
  file_path: line(4096).min(1).describe('From the root of the repository.'),
});
