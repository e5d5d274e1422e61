import type { ProviderName } from '../contract/providers.ts';
import type { Answer } from '../git/answer.ts';
import type { GitProvider } from '../git/git-provider.ts';
import type { Account } from './accounts.ts';
import { type Failure, failureError, failureOf, type Missing } from './failure.ts';

/** What one provider answered. */
export interface Told<T> {
  provider: ProviderName;
  value: T;
}

/** What came of asking several: what they know, and who of them could not be asked, and why. */
export interface Found<T> {
  value: T;
  failures: readonly Failure[];
}

type Question<T> = (git: GitProvider, account: Account) => Promise<Answer<T>>;

/**
 * Asks all side by side, each question of each, and gives the answers in the order of the accounts. What a provider
 * does not have at all counts as not asked.
 * @throws ServiceError when everything that was asked failed
 */
export async function askAll<T>(
  accounts: readonly Account[],
  ...questions: readonly Question<T>[]
): Promise<Found<Told<T>[]>> {
  const { told, failures } = await ask(accounts, questions, null);
  if (told.length === 0 && failures.length > 0) throw failureError(failures);
  return { value: told, failures };
}

/**
 * Asks all side by side for one thing; the first of those who have it gives it.
 * @param missing what it is that nobody may have; null when all have it
 * @throws ServiceError when none has it
 */
export async function askForOne<T>(
  accounts: readonly Account[],
  question: Question<T>,
  missing: Missing | null,
): Promise<Found<Told<T>>> {
  const { told, failures } = await ask(accounts, [question], missing);
  const [first] = told;
  if (!first) throw failureError(failures);
  // That the others do not have it is no failure.
  return { value: first, failures: failures.filter(({ code }) => code !== missing) };
}

async function ask<T>(
  accounts: readonly Account[],
  questions: readonly Question<T>[],
  missing: Missing | null,
): Promise<{ told: Told<T>[]; failures: Failure[] }> {
  const answers = await Promise.all(
    accounts.flatMap((account) => {
      const { git, provider } = account;
      return git
        ? questions.map(async (question) => ({ provider, answer: await question(git, account) }))
        : [];
    }),
  );
  const told: Told<T>[] = [];
  const failures: Failure[] = [];
  for (const { provider, answer } of answers) {
    if (answer.kind === 'ok') told.push({ provider, value: answer.value });
    else if (answer.kind !== 'unsupported') failures.push(failureOf(provider, answer, missing));
  }
  return { told, failures: failures.filter(firstOfItsKind) };
}

function firstOfItsKind({ provider, code }: Failure, index: number, all: readonly Failure[]): boolean {
  return all.findIndex((one) => one.provider === provider && one.code === code) === index;
}
