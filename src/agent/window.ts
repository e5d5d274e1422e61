import type { ModelMessage } from 'ai';

import { messagesOf, type Unit } from './history.ts';

/** Tokenizers give three to four characters a token for text and code; the smaller number errs on the safe side. */
export const CHARACTERS_PER_TOKEN = 3;
const TOKENS_PER_IMAGE = 1_500;
/** What of a model's window the request may fill; the rest is for the answer and for the error of the estimate. */
const FILLED = 0.75;
/** To what part of the limit the view shrinks at once: each time it does, the provider's cache is lost. */
const SHRUNK = 0.6;

/** How many tokens of history fit, beside what every request has. */
export function historyLimit(window: number, always: number): number {
  return Math.max(1_000, Math.floor(window * FILLED) - always);
}

export function tokensOfText(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/**
 * The units that fit into `limit` tokens. Whole steps drop out, the oldest first; messages of the user only after
 * all steps that can, and the first and the newest never. A pure function of the units, so that a run that takes
 * over sees the same; and what it gives for more units begins alike, until the next time the view shrinks.
 */
export function visible(units: readonly Unit[], limit: number): { units: Unit[]; left: number } {
  const costs = units.map(tokensOf);
  const shown = units.map(() => true);
  let total = 0;
  for (const [newest, cost] of costs.entries()) {
    total += cost;
    if (total <= limit) continue;
    const firstUser = units.findIndex(({ kind }) => kind === 'user');
    const lastUser = units.slice(0, newest + 1).findLastIndex(({ kind }) => kind === 'user');
    for (const dropUsers of [false, true]) {
      for (let n = 0; n < newest && total > limit * SHRUNK; n += 1) {
        const user = units[n]?.kind === 'user';
        if (!shown[n] || user !== dropUsers || n === firstUser || n === lastUser) continue;
        shown[n] = false;
        total -= costs[n] ?? 0;
      }
    }
  }
  const kept = units.filter((_, n) => shown[n]);
  return { units: kept, left: units.length - kept.length };
}

/** The messages of a request. */
export function messagesShown(units: readonly Unit[], limit: number): ModelMessage[] {
  const view = visible(units, limit);
  const first = view.units.findIndex(({ kind }) => kind === 'user');
  const note =
    view.left === 0
      ? null
      : `(${view.left} older steps of this conversation are left out after this message.)`;
  return view.units.flatMap((unit, n) => messagesOf(unit, n === first ? note : null));
}

const known = new WeakMap<Unit, number>();

/** Counted once for a unit that is whole: it does not change any more. */
export function tokensOf(unit: Unit): number {
  const counted = known.get(unit);
  if (counted !== undefined) return counted;
  const tokens = count(unit);
  const whole =
    unit.kind === 'step' ? unit.calls.every(({ result }) => result !== null) : unit.kind !== 'user';
  if (whole) known.set(unit, tokens);
  return tokens;
}

function count(unit: Unit): number {
  if (unit.kind === 'said' || unit.kind === 'told') return tokensOfText(unit.text);
  if (unit.kind === 'user') {
    const texts = unit.messages.map(({ args }) => tokensOfText(args.content));
    const images = unit.messages.flatMap(({ args }) => args.image_urls ?? []).length;
    return sum(texts) + images * TOKENS_PER_IMAGE + tokensOfText(unit.context ?? '');
  }
  const calls = unit.calls.map(({ name, input, result }) =>
    tokensOfText(name + JSON.stringify(input) + (result?.text ?? '')),
  );
  return tokensOfText(unit.text) + sum(calls);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
