import { setTimeout } from 'node:timers/promises';
import type { ProviderName } from '../contract/providers.ts';
import type { Answer, ProviderFailure } from '../git/answer.ts';
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
  const asked = accounts.flatMap((account) => questions.flatMap((question) => askOne(account, question)));
  const answers = await Promise.all(
    asked.map(async ({ provider, answer }) => ({ provider, answer: await answer })),
  );
  const value: Told<T>[] = [];
  const failures: Failure[] = [];
  for (const { provider, answer } of answers) {
    if (answer.kind === 'ok') value.push({ provider, value: answer.value });
    else if (answer.kind !== 'unsupported') failures.push(failureOf(provider, answer, null));
  }
  if (value.length === 0 && failures.length > 0) throw failureError(failures.filter(firstOfItsKind));
  return { value, failures: failures.filter(firstOfItsKind) };
}

/**
 * Asks all side by side for one thing. The first in the order of the accounts who has it gives it; those after it are
 * not waited for, and their signal is aborted.
 * @param missing what it is that nobody may have; null when all have it
 * @param patienceMs how long those before it are still waited for once one has given it; when not given, to their end
 * @throws ServiceError when none has it
 */
export async function askForOne<T>(
  accounts: readonly Account[],
  question: (git: GitProvider, signal: AbortSignal) => Promise<Answer<T>>,
  { missing, patienceMs, signal }: { missing: Missing | null; patienceMs?: number; signal: AbortSignal },
): Promise<Found<Told<T>>> {
  const found = new AbortController();
  const either = AbortSignal.any([signal, found.signal]);
  const asked = accounts.flatMap((account) => askOne(account, (git) => question(git, either)));
  // Each is looked at in its turn, if at all; until then it may fail unseen.
  for (const { answer } of asked) answer.catch(() => {});
  const late = tooLate(asked, patienceMs, found.signal);
  const failures: Failure[] = [];
  try {
    for (const one of asked) {
      const { provider } = one;
      const answer = await Promise.race([one.answer, late]);
      if (answer.kind === 'ok') {
        // That those before it do not have it is no failure.
        const others = failures.filter(({ code }) => code !== missing);
        return { value: { provider, value: answer.value }, failures: others };
      }
      if (answer.kind !== 'unsupported') failures.push(failureOf(provider, answer, missing));
    }
  } finally {
    found.abort();
  }
  throw failureError(failures);
}

interface Asked<T> {
  provider: ProviderName;
  answer: Promise<Answer<T>>;
}

/** Nothing of who can't be asked. */
function askOne<T>(account: Account, question: Question<T>): Asked<T>[] {
  const { git, provider } = account;
  return git ? [{ provider, answer: question(git, account) }] : [];
}

/** What is said of who has not answered so long after another has. Without such a time it never comes. */
function tooLate<T>(
  asked: readonly Asked<T>[],
  patienceMs: number | undefined,
  signal: AbortSignal,
): Promise<ProviderFailure> {
  const never = new Promise<never>(() => {});
  if (patienceMs === undefined) return never;
  const first = Promise.any(
    asked.map(async ({ answer }) => {
      if ((await answer).kind !== 'ok') throw new Error('it has none');
    }),
  );
  const message = `it had not answered ${patienceMs / 1000} s after another provider: try again later`;
  return first
    .then(() => setTimeout(patienceMs, { kind: 'unavailable', message } as const, { signal }))
    .catch(() => never);
}

function firstOfItsKind({ provider, code }: Failure, index: number, all: readonly Failure[]): boolean {
  return all.findIndex((one) => one.provider === provider && one.code === code) === index;
}
