import type { ModelStep } from '../../model/answer.ts';
import { deadlinesOf } from '../../model/deadline.ts';
import type { ModelTool } from '../../model/message.ts';
import type { Retries } from '../../model/retries.ts';
import { condense } from './condense.ts';
import type { Condenser } from './condenser.ts';
import { dropping } from './dropping.ts';
import { Summarizing } from './summarizing.ts';
import type { ModelContext } from '../context.ts';
import type { Failure } from '../failure.ts';
import type { RunLog } from '../run-log.ts';
import type { Spending } from '../spending/spending.ts';
import { tokensOfText } from '../history/tokens.ts';
import { toolsOffered, toolsShown } from '../tools/toolbox.ts';
import type { Tool } from '../tools/tool.ts';
import { messagesShown, tokensShown } from '../history/view.ts';
import { historyLimit, LEAST } from '../history/window.ts';

/** How often the view is halved for a model that says it is too long, before that is the failure. */
const MAX_HALVINGS = 4;
/** Tokens of the answer that money is set aside for. */
const LONGEST_ANSWER = 16_000;

/** The model, asked with a history that fits its window: what is too much of it is condensed first. */
export class FittedModel {
  readonly #context: ModelContext;
  readonly #tools: readonly ModelTool[];
  readonly #toolTokens: number;
  readonly #spending: Spending;
  readonly #condenser: Condenser;
  /** In tokens, as learned from a refusal. */
  #refused = Number.POSITIVE_INFINITY;

  constructor(context: ModelContext, tools: readonly Tool[], spending: Spending) {
    this.#context = context;
    this.#tools = toolsOffered(tools);
    this.#toolTokens = tokensOfText(JSON.stringify(toolsShown(tools)));
    this.#spending = spending;
    const { model, condenser = false } = context;
    this.#condenser = condenser
      ? new Summarizing({ model, spending, ...this.#deadlines, retries: this.#retries })
      : dropping;
  }

  async ask(log: RunLog): Promise<{ ok: true; step: ModelStep } | { ok: false; failure: Failure }> {
    const { model, signal } = this.#context;
    const { history } = log;
    // As the log has it: cleaned of secrets that the user's own instructions may name.
    const system = history.system ?? '';
    const always = tokensOfText(system) + this.#toolTokens;
    for (let halvings = 0; ; halvings += 1) {
      const limit = Math.min(historyLimit(model.window, always), this.#refused);
      const failure = await condense(log, limit, {
        condenser: this.#condenser,
        spending: this.#spending,
        signal,
      });
      if (failure) return { ok: false, failure };
      const shown = tokensShown(history, limit);
      const asked = await this.#spending.ask(
        {
          model,
          system,
          messages: messagesShown(history, limit),
          tools: this.#tools,
          signal,
          ...this.#deadlines,
        },
        { tokens: always + shown, longest: LONGEST_ANSWER },
        this.#retries,
      );
      if (asked.ok || asked.kind !== 'context_length' || halvings === MAX_HALVINGS) return asked;
      this.#refused = Math.max(LEAST, Math.floor(Math.min(limit, shown) / 2));
    }
  }

  get #deadlines() {
    const { timeouts } = this.#context;
    return timeouts ? { deadlines: deadlinesOf(timeouts.modelMs) } : {};
  }

  /** In V0's words, which its pages know. */
  readonly #retries: Retries = {
    onRetry: (n, of, { message }) => {
      this.#context.notify({
        type: 'info',
        id: 'STATUS$LLM_RETRY',
        message: `Retrying LLM request, ${n - 1} / ${of}`,
        reason: message,
      });
    },
  };
}
