import { deadlinesOf } from '../model/deadline.ts';
import { contextWindow } from '../model/price.ts';
import type { Retries } from '../model/retries.ts';
import type { ModelContext } from './context.ts';
import type { Unit } from './history.ts';
import type { Asked, Spending } from './spending.ts';
import { toolSet, toolsShown } from './tools/toolbox.ts';
import type { Tool } from './tools/tool.ts';
import { historyLimit, messagesShown, tokensOf, tokensOfText } from './window.ts';

/** How often the view is halved for a model that says it is too long, before that is the failure. */
const MAX_HALVINGS = 4;

/** Tokens of the answer that money is set aside for. */
const LONGEST_ANSWER = 16_000;

/** The model, asked with as much of the history as its window holds. */
export class FittedModel {
  readonly #context: ModelContext;
  readonly #tools: readonly Tool[];
  readonly #toolTokens: number;
  /** In tokens; null when it is not known. */
  readonly #window: number | null;
  /** In tokens, as learned from a refusal. */
  #refused = Number.POSITIVE_INFINITY;

  constructor(context: ModelContext, tools: readonly Tool[]) {
    this.#context = context;
    this.#tools = tools;
    this.#toolTokens = tokensOfText(JSON.stringify(toolsShown(tools)));
    this.#window = contextWindow(context.model.name);
  }

  async ask(system: string, history: readonly Unit[], spending: Spending): Promise<Asked> {
    const { model, signal, timeouts } = this.#context;
    const deadlines = timeouts ? { deadlines: deadlinesOf(timeouts.modelMs) } : {};
    const tools = toolSet(this.#tools);
    for (let halvings = 0; ; halvings += 1) {
      const limit = this.#limit(system);
      const messages = messagesShown(history, limit);
      const all = history.reduce((total, unit) => total + tokensOf(unit), 0);
      const tokens = Math.min(all, limit) + tokensOfText(system) + this.#toolTokens;
      const outcome = await spending.ask(
        { model, system, messages, tools, signal, ...deadlines },
        { tokens, longest: LONGEST_ANSWER },
        { onRetry: this.#retrying },
      );
      if (outcome.ok || outcome.kind !== 'context_length' || halvings === MAX_HALVINGS) return outcome;
      this.#refused = Math.floor(Math.min(limit, all) / 2);
    }
  }

  /** In V0's words, which its pages know. */
  readonly #retrying: NonNullable<Retries['onRetry']> = (n, of, { message }) => {
    this.#context.notify({
      type: 'info',
      id: 'STATUS$LLM_RETRY',
      message: `Retrying LLM request, ${n} / ${of}: ${message}`,
    });
  };

  #limit(system: string): number {
    if (this.#window === null) return this.#refused;
    return Math.min(historyLimit(this.#window, tokensOfText(system) + this.#toolTokens), this.#refused);
  }
}
