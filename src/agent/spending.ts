import type { LlmMetrics } from '../events/event.ts';
import { contextWindow, priceOf } from '../model/price.ts';
import type { ModelStep } from '../model/answer.ts';
import type { ModelContext } from './context.ts';

/** What the conversation has cost, step by step. */
export class Spending {
  cost: number;
  readonly #model: string;
  readonly #maxBudget: number | null;
  #prompt: number;
  #completion: number;
  #cacheRead: number;
  #cacheWrite: number;

  /** @param last the newest metrics of the log, for what the conversation's row does not keep */
  constructor(context: ModelContext, last: LlmMetrics | null) {
    const { spent, model, maxBudget } = context;
    this.cost = spent.cost;
    this.#model = model.name;
    this.#maxBudget = maxBudget;
    this.#prompt = spent.promptTokens;
    this.#completion = spent.completionTokens;
    this.#cacheRead = last?.accumulated_token_usage.cache_read_tokens ?? 0;
    this.#cacheWrite = last?.accumulated_token_usage.cache_write_tokens ?? 0;
  }

  /** Counts a step in, and gives the metrics that its first action carries. */
  add({ id, usage }: ModelStep): LlmMetrics {
    this.cost += priceOf(this.#model, usage) ?? 0;
    this.#prompt += usage.promptTokens;
    this.#completion += usage.completionTokens;
    this.#cacheRead += usage.cacheReadTokens;
    this.#cacheWrite += usage.cacheWriteTokens;
    return {
      accumulated_cost: this.cost,
      max_budget_per_task: this.#maxBudget,
      accumulated_token_usage: {
        model: this.#model,
        prompt_tokens: this.#prompt,
        completion_tokens: this.#completion,
        cache_read_tokens: this.#cacheRead,
        cache_write_tokens: this.#cacheWrite,
        context_window: contextWindow(this.#model) ?? 0,
        per_turn_token: usage.promptTokens + usage.completionTokens,
        response_id: id,
      },
      costs: [],
      response_latencies: [],
      token_usages: [],
    };
  }
}
