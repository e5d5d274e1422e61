import assert from 'node:assert/strict';
import { guardedPlainFetch } from '../../src/egress/plain-fetch.ts';
import { NO_HOSTS } from '../../src/egress/host-list.ts';
import { servicePolicy } from '../../src/egress/policy.ts';
import type { Answer } from '../../src/git/answer.ts';
import type { AskableProvider, GitProvider } from '../../src/git/git-provider.ts';
import { gitProvider } from '../../src/git/git-providers.ts';
import { Secret } from '../../src/secrets/secret.ts';
import type { Given, ProviderServer } from '../support/git/providers/server.ts';
import { ISSUE, PULL_REQUEST, TOKENS } from '../support/git/providers/world.ts';

/** One provider, and how what it serves differs from what the others do. */
export interface ProviderDialect {
  provider: AskableProvider;
  start(): Promise<ProviderServer>;
  /** Below the server's address, as a user stores it: "" or "/organisation". */
  path: string;
  /** Below which alone it may be asked. */
  apis: readonly string[];
  /** The whole name of `acme/app` and its like. */
  fullName(name: string): string;
  /** Of which repository the assigned issue is, where it is not `acme/app`. */
  assigned?: string;
  /** How it says that too much was asked. */
  limit(until: Date): Given;
  /** Whether that says until when. */
  knowsUntil: boolean;
  /** Whether it tells an expired token from a wrong one. */
  knowsExpired: boolean;
  knowsStars: boolean;
  hasIssues: boolean;
  /** What it names as the scope that is missing. */
  scope: RegExp | null;
}

/** A provider that runs, and the port to it. */
export class Under {
  readonly dialect: ProviderDialect;
  readonly server: ProviderServer;
  /** Every request that left. */
  readonly sent: Request[] = [];
  readonly #fetch = guardedPlainFetch(
    servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
  );

  constructor(dialect: ProviderDialect, server: ProviderServer) {
    this.dialect = dialect;
    this.server = server;
  }

  ask(token: string | null = TOKENS.good, more: { host?: string; deadlineMs?: number } = {}): GitProvider {
    const provider = gitProvider({
      provider: this.dialect.provider,
      host: `${this.server.url}${this.dialect.path}`,
      token: token === null ? null : new Secret(token),
      fetch: (input, init) => {
        this.sent.push(new Request(input, init));
        return this.#fetch(input, init);
      },
      ...more,
    });
    assert.ok(provider);
    return provider;
  }

  name(name: string): string {
    return this.dialect.fullName(name);
  }

  async close(): Promise<void> {
    await this.#fetch.close();
    await this.server.close();
  }
}

export type Fact = (under: Under) => Promise<void>;

/** What nobody aborts. */
export const never = new AbortController().signal;

/** The value of an answer that has to have one. */
export function value<T>(answer: Answer<T>): T {
  assert.ok(answer.kind === 'ok', `${answer.kind}: ${'message' in answer ? answer.message : ''}`);
  return answer.value;
}

/** One question of each kind. */
export const QUESTIONS: Readonly<
  Record<string, (of: GitProvider, repository: string) => Promise<Answer<unknown>>>
> = {
  whoAmI: (of) => of.whoAmI(never),
  owners: (of) => of.owners(never),
  repositories: (of) => of.repositories({ page: 1, perPage: 2, sort: 'pushed', owner: null }, never),
  searchRepositories: (of) =>
    of.searchRepositories({ query: 'app', page: 1, perPage: 5, sort: 'stars', order: 'desc' }, never),
  repository: (of, name) => of.repository(name, never),
  branches: (of, name) => of.branches(name, { page: 1, perPage: 2, query: null }, never),
  searchBranches: (of, name) => of.branches(name, { page: 1, perPage: 2, query: 'fix' }, never),
  file: (of, name) => of.file(name, 'README.md', null, never),
  folder: (of, name) => of.folder(name, 'docs', null, never),
  pullRequest: (of, name) => of.pullRequest(name, PULL_REQUEST.number, never),
  pullRequestComments: (of, name) =>
    of.pullRequestComments(name, PULL_REQUEST.number, { page: 1, perPage: 10 }, never),
  addPullRequestComment: (of, name) => of.addPullRequestComment(name, PULL_REQUEST.number, 'Done', never),
  reviewComments: (of, name) => of.reviewComments(name, PULL_REQUEST.number, never),
  openPullRequest: (of, name) =>
    of.openPullRequest(name, { title: 'T', body: 'B', head: 'main', base: 'main', isDraft: false }, never),
  checks: (of, name) => of.checks(name, 'main', never),
  ownPullRequests: (of) => of.ownPullRequests(never),
};
export const ISSUE_QUESTIONS: typeof QUESTIONS = {
  issue: (of, name) => of.issue(name, ISSUE.number, never),
  issueComments: (of, name) => of.issueComments(name, ISSUE.number, { page: 1, perPage: 1 }, never),
  addIssueComment: (of, name) => of.addIssueComment(name, ISSUE.number, 'Done', never),
  assignedIssues: (of) => of.assignedIssues(never),
};

/** Those that the provider answers at all. */
export function questionsOf({ hasIssues }: ProviderDialect): (typeof QUESTIONS)[string][] {
  return [...Object.values(QUESTIONS), ...(hasIssues ? Object.values(ISSUE_QUESTIONS) : [])];
}
