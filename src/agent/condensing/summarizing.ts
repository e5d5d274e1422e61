import type { Deadlines } from '../../model/deadline.ts';
import { userText } from '../../model/message.ts';
import type { Retries } from '../../model/retries.ts';
import type { RunModel } from '../../model/run-model.ts';
import { cutText, tokensOfText } from '../history/tokens.ts';
import type { Spending } from '../spending/spending.ts';
import type { Condensed, Condenser, Part } from './condenser.ts';
import { SUMMARY_PROMPT, summaryAsked } from './summary-prompt.ts';

/** How often the part is halved for a model that says it is too long. */
const MAX_HALVINGS = 2;

/** Whom the user has to help before any call succeeds, a step's too. */
const NEEDS_USER: ReadonlySet<string> = new Set(['authentication', 'out_of_credits']);

export interface SummarizingOptions {
  model: RunModel;
  spending: Pick<Spending, 'ask'>;
  deadlines?: Deadlines;
  retries?: Retries;
}

/** Has the model of the conversation sum up the part. What it answers is a text to be bounded, whatever it says. */
export class Summarizing implements Condenser {
  readonly #options: SummarizingOptions;

  constructor(options: SummarizingOptions) {
    this.#options = options;
  }

  async condense(part: Part, signal: AbortSignal): Promise<Condensed> {
    const { model, spending, deadlines, retries } = this.#options;
    const always = tokensOfText(SUMMARY_PROMPT + (part.former ?? ''));
    let room = part.room.request - always;
    for (let halvings = 0; ; halvings += 1) {
      const content = summaryAsked(part, Math.max(0, room));
      const messages = [userText(content)];
      const request = { model, system: SUMMARY_PROMPT, messages, tools: [], signal };
      const size = { tokens: always + tokensOfText(content), longest: part.room.summary };
      const asked = await spending.ask({ ...request, ...(deadlines && { deadlines }) }, size, retries);
      if (asked.ok) {
        // A call of a tool is no summary: nothing was offered to be called.
        const text = asked.step.text.trim();
        return { ok: true, summary: text === '' ? part.former : cutText(text, part.room.summary) };
      }
      if (NEEDS_USER.has(asked.kind)) return { ok: false, failure: asked.failure };
      if (asked.kind !== 'context_length' || halvings === MAX_HALVINGS) {
        return { ok: true, summary: part.former };
      }
      room = Math.floor(Math.min(room, tokensOfText(content)) / 2);
    }
  }
}
