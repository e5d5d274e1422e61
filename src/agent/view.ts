import { type Message, userText } from '../model/message.ts';
import { type History, messagesOf, type Unit } from './history.ts';
import { enclosed } from './prompts/enclosed.ts';
import { tokensOfText } from './tokens.ts';
import { cutUnit, tokensOf } from './window.ts';

/** What of the limit the first message may have, any other unit, what the user said since, and the summary. */
export const SHARES = { first: 0.2, unit: 0.4, said: 0.1, summary: 0.1 } as const;

const BLOCKS = ['user_message', 'summary'];

/** How many tokens the history has as it is shown within that limit. */
export function tokensShown(history: History, limit: number): number {
  const { units, opening } = history;
  const tokens = units.reduce((sum, unit) => sum + shownTokens(unit, opening, limit), 0);
  return tokens + tokensOfText(noteOf(history) ?? '');
}

export function shownTokens(unit: Unit, opening: Unit | null, limit: number): number {
  return Math.min(tokensOf(unit), mostOf(unit, opening, limit));
}

/** The messages of a request. What is larger than its part of the limit is cut; nothing is left out. */
export function messagesShown(history: History, limit: number): Message[] {
  const note = noteOf(history);
  const { units, opening } = history;
  const messages = units.flatMap((unit) =>
    messagesOf(cutUnit(unit, mostOf(unit, opening, limit)), unit === opening ? note : null),
  );
  return note === null || opening ? messages : [userText(note), ...messages];
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
