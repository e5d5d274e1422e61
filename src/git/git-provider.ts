import type { ProviderName } from '../contract/providers.ts';
import type { Answer } from './answer.ts';

/** Providers that answer questions; `enterprise_sso` only gives git a credential. */
export type AskableProvider = Exclude<ProviderName, 'enterprise_sso'>;

/** Which page, counted from 1, and how long pages are: 1 to 100. */
export interface PageOf {
  page: number;
  perPage: number;
}

export interface Page<T> {
  items: T[];
  /** Whether there is a page after this one. */
  more: boolean;
  /** How many there are on all pages, where the provider says. */
  total: number | null;
}

/** Whose token it is. */
export interface ProviderUser {
  id: string;
  login: string;
  name: string | null;
  email: string | null;
  company: string | null;
  avatarUrl: string | null;
}

/** Who owns repositories and can be chosen to see only theirs: an organisation, group or workspace. */
export interface Owner {
  /** What `repositories` takes as `owner`. */
  id: string;
  name: string;
}

export interface Repository {
  id: string;
  /** `owner/name`, as the provider writes it; GitLab has more levels, Azure is `organisation/project/name`. */
  fullName: string;
  isPublic: boolean;
  /** Null while it is empty, and where a list does not say. */
  defaultBranch: string | null;
  stars: number | null;
  /** ISO 8601. */
  pushedAt: string | null;
  ownerType: 'user' | 'organization' | null;
}

/** What a list of repositories is ordered by; a provider that cannot takes what is nearest. Names ascend, the rest descends. */
export type RepositorySort = 'pushed' | 'updated' | 'created' | 'full_name';

export interface Branch {
  name: string;
  commit: string;
  isProtected: boolean;
  /** ISO 8601, of its newest commit, where the list says. */
  pushedAt: string | null;
}

export interface Issue {
  number: number;
  title: string;
  /** Markdown; Azure's is HTML. */
  body: string;
  isOpen: boolean;
  author: string | null;
  labels: string[];
  /** For people, at the provider's host; of http or https. */
  url: string | null;
}

/** A pull request; GitLab calls it merge request. */
export interface PullRequest {
  number: number;
  title: string;
  body: string;
  state: 'open' | 'merged' | 'closed';
  isDraft: boolean;
  author: string | null;
  /** The branch it comes from and its newest commit, also shortened; the repository, when that is another one: "" when it is gone. */
  head: { branch: string; commit: string | null; repository: string | null };
  /** The branch it goes to. */
  base: string;
  url: string | null;
}

export interface NewPullRequest {
  title: string;
  /** Markdown. */
  body: string;
  /** A branch of the same repository. */
  head: string;
  base: string;
  isDraft: boolean;
}

export interface Comment {
  id: string;
  author: string | null;
  body: string;
  /** ISO 8601. */
  createdAt: string;
  url: string | null;
}

/** What a reviewer says of a line of a pull request. */
export interface ReviewComment extends Comment {
  path: string;
  /** Null for a comment on the whole file or on lines that are no longer there. */
  line: number | null;
  /** Null where the provider does not say. */
  isResolved: boolean | null;
}

/** An open pull request of the token's owner, and what keeps it from being merged. */
export interface OwnPullRequest {
  repository: string;
  number: number;
  title: string;
  hasConflicts: boolean;
  hasFailingChecks: boolean;
  hasUnresolvedComments: boolean;
}

export interface AssignedIssue {
  repository: string;
  number: number;
  title: string;
}

export interface RepositoryFile {
  path: string;
  /** Of at most 1 MiB; bytes that are no UTF-8 are replaced. */
  content: string;
}

export interface FolderEntry {
  name: string;
  /** From the root of the repository. */
  path: string;
  kind: 'file' | 'folder';
}

export type CheckState = 'pending' | 'success' | 'failure' | 'neutral';

/** What CI says of a commit: `none` when it says nothing. */
export interface Checks {
  state: CheckState | 'none';
  checks: { name: string; state: CheckState; url: string | null }[];
}

/**
 * What a git provider is asked, with one token or none, at one host: the token goes to that host and nowhere else, and
 * redirects are not followed. Each call ends within ten seconds. None rejects, unless its `signal` is aborted: then
 * with that signal's reason, or with `GivenUpMidway` where something may be changed all the same. A public repository needs no token where the provider allows that.
 *
 * What comes back is somebody else's text: bounded in size and of the shape that is declared here, and no more is known
 * of it. `repository` is its `fullName`.
 */
export interface GitProvider {
  readonly provider: AskableProvider;

  /** Whose token it is; so also whether it is valid. */
  whoAmI(signal: AbortSignal): Promise<Answer<ProviderUser>>;

  /** The organisations, groups or workspaces of the token's owner: the first 100. */
  owners(signal: AbortSignal): Promise<Answer<Owner[]>>;

  /** Repositories that the token's owner can work on, of one {@link Owner} or of all. */
  repositories(
    which: PageOf & { sort: RepositorySort; owner: string | null },
    signal: AbortSignal,
  ): Promise<Answer<Page<Repository>>>;

  /**
   * Repositories that `query` is a part of the name of. The token's owner's, and public ones where the provider
   * searches these. `sort` `stars` where the provider knows stars.
   */
  searchRepositories(
    which: PageOf & { query: string; sort: 'stars' | 'updated'; order: 'asc' | 'desc' },
    signal: AbortSignal,
  ): Promise<Answer<Page<Repository>>>;

  repository(repository: string, signal: AbortSignal): Promise<Answer<Repository>>;

  /** Branches, by name; with a `query` those that have it in their name. */
  branches(
    repository: string,
    which: PageOf & { query: string | null },
    signal: AbortSignal,
  ): Promise<Answer<Page<Branch>>>;

  /** A file on a branch, a tag or at a commit; `ref` null is the default branch. A folder is `not_found`. */
  file(
    repository: string,
    path: string,
    ref: string | null,
    signal: AbortSignal,
  ): Promise<Answer<RepositoryFile>>;

  /** What lies in a folder, itself alone, at most 1,000 entries; "" is the root. */
  folder(
    repository: string,
    path: string,
    ref: string | null,
    signal: AbortSignal,
  ): Promise<Answer<FolderEntry[]>>;

  /** The issue (Azure: work item) of that number. */
  issue(repository: string, number: number, signal: AbortSignal): Promise<Answer<Issue>>;

  /** Oldest first. */
  issueComments(
    repository: string,
    number: number,
    which: PageOf,
    signal: AbortSignal,
  ): Promise<Answer<Page<Comment>>>;

  /** @param body Markdown */
  addIssueComment(
    repository: string,
    number: number,
    body: string,
    signal: AbortSignal,
  ): Promise<Answer<Comment>>;

  pullRequest(repository: string, number: number, signal: AbortSignal): Promise<Answer<PullRequest>>;

  /** The conversation on a pull request, oldest first, without {@link reviewComments}: a page may hold fewer. */
  pullRequestComments(
    repository: string,
    number: number,
    which: PageOf,
    signal: AbortSignal,
  ): Promise<Answer<Page<Comment>>>;

  /** @param body Markdown */
  addPullRequestComment(
    repository: string,
    number: number,
    body: string,
    signal: AbortSignal,
  ): Promise<Answer<Comment>>;

  /** What reviewers say of lines: of at most 100 threads, oldest first. */
  reviewComments(repository: string, number: number, signal: AbortSignal): Promise<Answer<ReviewComment[]>>;

  /** `rejected` when there is an open one from that branch already. Asked once: a lost answer is `unavailable`. */
  openPullRequest(
    repository: string,
    request: NewPullRequest,
    signal: AbortSignal,
  ): Promise<Answer<PullRequest>>;

  /** @param ref a branch or a commit */
  checks(repository: string, ref: string, signal: AbortSignal): Promise<Answer<Checks>>;

  /**
   * Open pull requests of the token's owner in all repositories: those touched last, at most 50; 20 where each has to be
   * asked about.
   */
  ownPullRequests(signal: AbortSignal): Promise<Answer<OwnPullRequest[]>>;

  /** Open issues assigned to the token's owner in all repositories: those touched last, at most 50. */
  assignedIssues(signal: AbortSignal): Promise<Answer<AssignedIssue[]>>;
}
