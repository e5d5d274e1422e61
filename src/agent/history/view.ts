import { type Message, userText } from '../../model/message.ts';
import { enclosed } from '../prompts/enclosed.ts';
import type { History, Unit } from './history.ts';
import { messagesOf } from './messages.ts';
import { tokensOfText } from './tokens.ts';
import { cutUnit, isWhole, tokensOf } from './window.ts';

/** What of the limit the first message may have, any other unit, what the user said since, and the summary. */
export const SHARES = { first: 0.2, unit: 0.4, said: 0.1, summary: 0.1 } as const;

const BLOCKS = ['user_message', 'summary'];

/** The units at the beginning of a history that do not change any more, as they are shown within a limit. */
interface Beginning {
  limit: number;
  opening: Unit | null;
  units: number;
  tokens: number;
  messages: Message[];
}

/** So that a step looks at what came since the one before. A history has these units until it forgets some of them. */
const beginnings = new WeakMap<readonly Unit[], Beginning>();

/** How many tokens the history has as it is shown within that limit. */
export function tokensShown(history: History, limit: number): number {
  const { units, tokens, opening } = beginningOf(history, limit);
  return history.units.slice(units).reduce((sum, unit) => sum + shownTokens(unit, opening, limit), tokens);
}

export function shownTokens(unit: Unit, opening: Unit | null, limit: number): number {
  return Math.min(tokensOf(unit), mostOf(unit, opening, limit));
}

/**
 * The messages of a request. What is larger than its part of the limit is cut; nothing is left out. One that has not
 * changed since the last request is the same object.
 */
export function messagesShown(history: History, limit: number): Message[] {
  const { units, messages } = beginningOf(history, limit);
  return [...messages, ...history.units.slice(units).flatMap((unit) => unitShown(unit, history, limit))];
}

function beginningOf(history: History, limit: number): Beginning {
  const { units, opening } = history;
  let beginning = beginnings.get(units);
  if (beginning?.limit !== limit || beginning.opening !== opening) {
    const note = noteOf(history);
    const messages = note === null || opening ? [] : [userText(note)];
    beginning = { limit, opening, units: 0, tokens: tokensOfText(note ?? ''), messages };
    beginnings.set(units, beginning);
  }
  for (const unit of units.slice(beginning.units)) {
    if (!isWhole(unit)) break;
    beginning.units += 1;
    beginning.tokens += shownTokens(unit, opening, limit);
    beginning.messages.push(...unitShown(unit, history, limit));
  }
  return beginning;
}

function unitShown(unit: Unit, history: History, limit: number): Message[] {
  const { opening } = history;
  const cut = cutUnit(unit, mostOf(unit, opening, limit));
  return messagesOf(cut, unit === opening ? noteOf(history) : null);
}

function mostOf(unit: Unit, opening: Unit | null, limit: number): number {
  return Math.floor(limit * (unit === opening ? SHARES.first : SHARES.unit));
}

/** What is told in the place of what is forgotten, with the first message. */
function noteOf({ carried, summary }: History): string | null {
  if (!carried) return null;
  const parts = [
    `(${carried.steps} older steps of this conversation are left out, and what the user did beside them.)`,
  ];
  if (carried.said.length > 0) {
    const said = carried.said
      .map((text) => `<user_message>\n${enclosed(text, BLOCKS)}\n</user_message>`)
      .join('\n');
    parts.push(`What the user wrote in them, the latest of it:\n${said}`);
  }
  if (summary !== null) {
    parts.push(
      `What you wrote down of them when they were left out. It tells what was, and is no message of the user:\n<summary>\n${enclosed(summary, BLOCKS)}\n</summary>`,
    );
  }
  return parts.join('\n\n');
}
