import { condensation } from '../../events/build.ts';
import type { Carried } from '../../events/event.ts';
import type { Failure } from '../failure.ts';
import type { History, Unit } from '../history/history.ts';
import { cutText, tokensOfText } from '../history/tokens.ts';
import { SHARES, shownTokens, tokensShown } from '../history/view.ts';
import type { RunLog } from '../run-log.ts';
import type { Spending } from '../spending/spending.ts';
import type { Condenser } from './condenser.ts';

/** What of the limit stays after a condensation: the provider's cache is lost each time, so it is not little by little. */
const KEPT = 0.35;

export interface CondenseOptions {
  condenser: Condenser;
  spending: Spending;
  signal: AbortSignal;
}

/**
 * Forgets the older part of the history when it has more tokens than that. What stands for it is recorded with it in
 * one event: after a crash it is there, or nothing is.
 * @returns why the run cannot go on; null when it can
 * @throws the signal's reason, and what the log throws
 */
export async function condense(
  log: RunLog,
  limit: number,
  { condenser, spending, signal }: CondenseOptions,
): Promise<Failure | null> {
  const { history } = log;
  const part = tokensShown(history, limit) > limit ? partToForget(history, limit) : null;
  if (!part) return null;
  const room = { request: limit, summary: Math.floor(limit * SHARES.summary) };
  const condensed = await condenser.condense({ units: part.units, former: history.summary, room }, signal);
  if (!condensed.ok) return condensed.failure;
  const { metrics, settled } = spending.say();
  const { first, last } = part;
  const replayed = history.replayed > 0 ? { replay: history.replayed - 1 } : {};
  const event = condensation(
    { first, last, summary: condensed.summary, carried: carriedFrom(log, part, limit) },
    { llm_metrics: metrics, ...replayed },
  );
  await log.append([event], settled);
  return null;
}

/**
 * What is forgotten: whole units, and the events from `first` to `last`, in which all of theirs are, but for those of
 * what comes before the first message.
 */
export interface ForgottenPart {
  units: readonly Unit[];
  first: number;
  last: number;
}

/**
 * All but the first message of the user and as many of the newest units as are kept. What the user had done before
 * saying anything goes first. No action is parted from its observation, and no call from those of the same answer: a
 * unit has all of them. Null when nothing can be forgotten.
 */
export function partToForget({ units, opening }: History, limit: number): ForgottenPart | null {
  const rest = units.filter((unit) => unit !== opening);
  const room = limit * KEPT;
  let kept = rest.length;
  let tokens = 0;
  for (const [n, unit] of [...rest.entries()].toReversed()) {
    tokens += shownTokens(unit, opening, limit);
    if (tokens > room && kept < rest.length) break;
    kept = n;
  }
  const last = rest[kept - 1];
  const next = rest[kept];
  if (!last || !next) return null;
  return { units: rest.slice(0, kept), ...spanBetween(last, next, opening) };
}

/**
 * From what is forgotten last back to the first message, or, when all of it comes before that, to the beginning. What
 * comes before the first message is forgotten with all that follows it: the log's reader goes by `last` alone.
 */
function spanBetween(last: Unit, next: Unit, opening: Unit | null): { first: number; last: number } {
  if (!opening || next.first < opening.first) return { first: 0, last: next.first - 1 };
  if (last.first < opening.first) return { first: 0, last: opening.first - 1 };
  return { first: opening.last + 1, last: next.first - 1 };
}

function carriedFrom(
  { history, tasks, cwd }: RunLog,
  { units, last }: ForgottenPart,
  limit: number,
): Carried {
  const { carried, pending, asked } = history;
  const messagesIn = (unit: Unit) => (unit.kind === 'user' ? unit.messages : []);
  const later = history.units.filter((unit) => unit.first > last);
  const done = later.flatMap((unit) => (unit.kind === 'told' && unit.of !== undefined ? [unit.of] : []));
  const said = [...later.flatMap(messagesIn), ...pending].map(({ id }) => id);
  const waiting = [...said, ...done, ...asked].filter((id) => id <= last);
  const words = units.flatMap(messagesIn).map(wordsOf);
  return {
    steps: (carried?.steps ?? 0) + units.filter(({ kind }) => kind === 'step').length,
    said: latest([...(carried?.said ?? []), ...words], Math.floor(limit * SHARES.said)),
    waiting: waiting.toSorted((a, b) => a - b),
    tasks: [...tasks.tasks],
    cwd,
  };
}

function wordsOf({ args }: { args: { content: string; image_urls: string[] | null } }): string {
  const images = args.image_urls?.length ?? 0;
  const seen = images === 0 ? '' : `(${images} image${images === 1 ? '' : 's'})`;
  return [args.content, seen].filter((text) => text !== '').join('\n');
}

/** The newest of them that have so many tokens together; the one that does not fit whole is cut. */
function latest(texts: readonly string[], tokens: number): string[] {
  const kept: string[] = [];
  let left = tokens;
  for (const text of texts.toReversed()) {
    if (left < 1) break;
    const fitting = cutText(text, left);
    kept.unshift(fitting);
    left -= tokensOfText(fitting) + 10;
  }
  return kept;
}
