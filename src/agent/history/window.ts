import type { Unit } from './history.ts';
import { cutText, tokensOfText } from './tokens.ts';

/** An image costs about as much, whatever its provider. */
const TOKENS_PER_IMAGE = 1_500;
/** What of a model's window the request may fill; the rest is for the answer and for the error of the estimate. */
const FILLED = 0.75;
/** The smallest limit: what tools and instructions leave, or a model that finds everything too long. */
export const LEAST = 1_000;

/** How many tokens of history fit, beside what every request has. */
export function historyLimit(window: number, always: number): number {
  return Math.max(LEAST, Math.floor(window * FILLED) - always);
}

const known = new WeakMap<Unit, number>();

/** Counted once for a unit that is whole: it does not change any more. */
export function tokensOf(unit: Unit): number {
  const counted = known.get(unit);
  if (counted !== undefined) return counted;
  const tokens = count(unit);
  if (isWhole(unit)) known.set(unit, tokens);
  return tokens;
}

/** Whether it stays as it is: what its calls gave is there, and what is told with the user's message. */
export function isWhole(unit: Unit): boolean {
  if (unit.kind === 'step') return unit.calls.every(({ result }) => result !== null);
  return unit.kind !== 'user' || unit.context !== null;
}

function count(unit: Unit): number {
  if (unit.kind === 'said' || unit.kind === 'told') return tokensOfText(unit.text);
  if (unit.kind === 'user') {
    const texts = unit.messages.map(({ args }) => tokensOfText(args.content));
    const images = unit.messages.flatMap(({ args }) => args.image_urls ?? []).length;
    return sum(texts) + images * TOKENS_PER_IMAGE + tokensOfText(unit.context ?? '');
  }
  const calls = unit.calls.map(
    ({ name, input, result }) =>
      tokensOfText(name + JSON.stringify(input) + (result?.text ?? '')) +
      (result?.images ?? []).length * TOKENS_PER_IMAGE,
  );
  return tokensOfText(unit.text) + sum(calls);
}

const WHY = ": the model's window does not hold more of it; look at it in smaller parts";

/** The unit with its longest texts cut so that it has about that many tokens at most. Only what is shown is cut. */
export function cutUnit(unit: Unit, most: number): Unit {
  if (tokensOf(unit) <= most) return unit;
  const share = shareOf(textsOf(unit).map(tokensOfText), most);
  const cut = (text: string) => cutText(text, share, WHY);
  switch (unit.kind) {
    case 'user':
      return {
        ...unit,
        context: unit.context === null ? null : cut(unit.context),
        messages: unit.messages.map((message) => ({
          ...message,
          args: { ...message.args, content: cut(message.args.content) },
        })),
      };
    case 'step':
      return {
        ...unit,
        text: cut(unit.text),
        calls: unit.calls.map((call) => ({
          ...call,
          input: tokensOfText(JSON.stringify(call.input)) > share ? cutStrings(call.input, cut) : call.input,
          result: call.result && { ...call.result, text: cut(call.result.text) },
        })),
      };
    default:
      return { ...unit, text: cut(unit.text) };
  }
}

function textsOf(unit: Unit): string[] {
  if (unit.kind === 'user') return [unit.context ?? '', ...unit.messages.map(({ args }) => args.content)];
  if (unit.kind !== 'step') return [unit.text];
  return [
    unit.text,
    ...unit.calls.flatMap(({ input, result }) => [JSON.stringify(input), result?.text ?? '']),
  ];
}

/** How much each may have at most, so that all have `most` together: what short ones leave is for the long ones. */
function shareOf(sizes: readonly number[], most: number): number {
  let left = most;
  const ascending = sizes.toSorted((a, b) => a - b);
  for (const [n, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - n));
    if (size > share) return share;
    left -= size;
  }
  return most;
}

/** The texts within a call's arguments; their shape stays, or the provider may refuse them. */
function cutStrings(value: unknown, cut: (text: string) => string): unknown {
  if (typeof value === 'string') return cut(value);
  if (Array.isArray(value)) return value.map((entry) => cutStrings(entry, cut));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, cutStrings(entry, cut)]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
