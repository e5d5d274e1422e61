import type { Principal } from '../auth/principal.ts';
import type { BranchView, GitUser, RepositoriesQuery, RepositoryView, SearchQuery } from '../contract/git.ts';
import type { ProviderName } from '../contract/providers.ts';
import type { SuggestedTask } from '../contract/conversations.ts';
import { mapAnswer, ok } from '../git/answer.ts';
import type { GitAccess, RunToken } from '../settings/run-settings.ts';
import { type Account, accountsOf, fingerprintOf, type OpenProvider } from './accounts.ts';
import { askAll, askForOne, type Found } from './asking.ts';
import { AtOnce } from './at-once.ts';
import { KeptLists } from './kept-lists.ts';
import { type Listed, list, type Wanted } from './listing.ts';
import { findMicroagents, readMicroagent } from './microagents.ts';
import { nameInAddress } from './address.ts';
import { merged } from './merging.ts';
import { findSuggestedTasks } from './suggested-tasks.ts';
import { branchOf, userOf } from './view.ts';

/** How long a list of repositories is kept, and how many characters all of them hold: a repository has about 300. */
const KEPT_MS = 60_000;
const MOST_KEPT = 16 * 1024 * 1024;
/** For who else the user may be, once one provider has said it. */
const PATIENCE_MS = 1_000;
/** Requests of one user that are answered at once: answers of a provider may be megabytes. */
const MOST_AT_ONCE = 10;

export interface UserRepositoriesOptions {
  access: (userId: string) => Promise<GitAccess>;
  open: OpenProvider;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
}

/**
 * What a user has at the git providers whose tokens are stored, and what there is to do. All providers are asked side
 * by side; one that fails does not hide what the others know, and is named beside it. Methods throw a ServiceError of
 * the table when nobody answered, `git_token_required` when there is nobody to ask, and the reason of `signal` when
 * that is aborted.
 */
export class UserRepositories {
  readonly #access: UserRepositoriesOptions['access'];
  readonly #open: OpenProvider;
  readonly #kept: KeptLists<RepositoryView>;
  readonly #atOnce = new AtOnce(MOST_AT_ONCE);

  constructor({ access, open, now }: UserRepositoriesOptions) {
    this.#access = access;
    this.#open = open;
    this.#kept = new KeptLists({ keptMs: KEPT_MS, most: MOST_KEPT, ...(now && { now }) });
  }

  /** Who the user is at the first provider that says so; one that hangs does not hold the others up. */
  async whoAmI(by: Principal, signal: AbortSignal): Promise<Found<GitUser>> {
    const { value, failures } = await this.#ask(by, undefined, (accounts) =>
      askForOne(accounts, (git, until) => git.whoAmI(until), {
        missing: null,
        patienceMs: PATIENCE_MS,
        signal,
      }),
    );
    return { value: userOf(value.value), failures };
  }

  /** Whose repositories can be chosen at a provider, by the ids that {@link repositories} takes. */
  async owners(by: Principal, provider: ProviderName, signal: AbortSignal): Promise<Found<string[]>> {
    const { value, failures } = await this.#ask(by, provider, (accounts) =>
      askAll(accounts, (git) => git.owners(signal)),
    );
    return { value: value.flatMap((told) => told.value.map(({ id }) => id)), failures };
  }

  async repositories(
    by: Principal,
    query: Pick<RepositoriesQuery, 'sort' | 'selected_provider' | 'installation_id'>,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Found<Listed<RepositoryView>>> {
    const { sort = 'pushed', selected_provider: selected, installation_id: owner = null } = query;
    return await this.#keptOr(by, ['list', query, wanted], selected, async (accounts) => {
      const { value, failures } = await askAll(accounts, (git) =>
        list((which, until) => git.repositories({ ...which, sort, owner }, until), wanted, signal),
      );
      return { value: merged(value, sort), failures };
    });
  }

  /** Those that have `query` in their name; the one of that address, when it is one. */
  async search(
    by: Principal,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<Found<Listed<RepositoryView>>> {
    const { query: text, per_page: perPage = 5, sort = 'stars', order = 'desc' } = query;
    return await this.#keptOr(by, ['search', query], query.selected_provider, async (accounts) => {
      const { value, failures } = await askAll(accounts, async (git, { provider, base }) => {
        const name = nameInAddress(text, provider, base);
        if (name === undefined)
          return await git.searchRepositories({ query: text, page: 1, perPage, sort, order }, signal);
        const found = name === null ? null : await git.repository(name, signal);
        if (found === null || found.kind === 'not_found') return ok({ items: [], more: false, total: 0 });
        return mapAnswer(found, (repository) => ({ items: [repository], more: false, total: 1 }));
      });
      return { value: merged(value, null), failures };
    });
  }

  /** @param query null for all; else those that have it in their name */
  async branches(
    by: Principal,
    of: { repository: string; query: string | null; selected: ProviderName | undefined },
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Found<Listed<BranchView>>> {
    const { repository, query, selected } = of;
    const { value, failures } = await this.#ask(by, selected, (accounts) =>
      askForOne(
        accounts,
        (git, open) =>
          list((which, until) => git.branches(repository, { ...which, query }, until), wanted, open),
        { missing: 'repository_not_found', signal },
      ),
    );
    const { items, ...rest } = value.value;
    return { value: { items: items.map(branchOf), ...rest }, failures };
  }

  /** {@link findMicroagents} */
  async microagents(by: Principal, repository: string, signal: AbortSignal) {
    return await this.#ask(by, undefined, (accounts) => findMicroagents(accounts, repository, signal));
  }

  /** {@link readMicroagent} */
  async microagent(by: Principal, repository: string, path: string, signal: AbortSignal) {
    return await this.#ask(by, undefined, (accounts) => readMicroagent(accounts, repository, path, signal));
  }

  /** Nothing, and nobody is asked, when the user does not want to be offered any. */
  async suggestedTasks(by: Principal, signal: AbortSignal): Promise<Found<SuggestedTask[]>> {
    const { suggestsTasks } = await this.#access(by.userId);
    if (!suggestsTasks) return { value: [], failures: [] };
    return await this.#ask(by, undefined, (accounts) => findSuggestedTasks(accounts, signal));
  }

  async #ask<T>(
    { userId }: Principal,
    selected: ProviderName | undefined,
    ask: (accounts: readonly Account[]) => Promise<T>,
  ): Promise<T> {
    const { tokens } = await this.#access(userId);
    return await this.#askWith(tokens, userId, selected, ask);
  }

  async #askWith<T>(
    tokens: readonly RunToken[],
    userId: string,
    selected: ProviderName | undefined,
    ask: (accounts: readonly Account[]) => Promise<T>,
  ): Promise<T> {
    const accounts = accountsOf(tokens, this.#open, selected);
    return await this.#atOnce.run(userId, () => ask(accounts));
  }

  /** A list that somebody could not add to is not kept: the next request asks again. */
  async #keptOr(
    { userId }: Principal,
    question: readonly unknown[],
    selected: ProviderName | undefined,
    ask: (accounts: readonly Account[]) => Promise<Found<Listed<RepositoryView>>>,
  ): Promise<Found<Listed<RepositoryView>>> {
    // Read once: what is kept for tokens was asked with these, though another request may change them meanwhile.
    const { tokens } = await this.#access(userId);
    const fingerprint = fingerprintOf(tokens);
    const asked = JSON.stringify(question);
    const kept = this.#kept.get(userId, fingerprint, asked);
    if (kept) return { value: kept, failures: [] };
    const found = await this.#askWith(tokens, userId, selected, ask);
    if (found.failures.length === 0) this.#kept.keep(userId, fingerprint, asked, found.value);
    return found;
  }
}
