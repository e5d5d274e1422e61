import { observation } from '../../events/build.ts';
import type { LlmMetrics, NewEvent } from '../../events/event.ts';
import type { ModelFailure } from '../../model/failure.ts';
import { priceOf } from '../../model/price.ts';
import type { ModelOutcome, ModelStep, ModelUsage } from '../../model/answer.ts';
import { type Retries, withRetries } from '../../model/retries.ts';
import { type ModelRequest, modelStep } from '../../model/step.ts';
import type { ModelContext } from '../context.ts';
import { type Failure, modelFailed } from '../failure.ts';
import { budgetExhausted, type CallSize, highestCost } from './limits.ts';
import type { RunLog } from '../run-log.ts';
import { tokensOfBytes } from '../history/tokens.ts';

/** What came of a call: the model's answer, or why there is none. `exhausted`: it was not made, the budget is used up. */
export type Asked =
  | { ok: true; step: ModelStep }
  | { ok: false; kind: ModelFailure['kind'] | 'exhausted'; failure: Failure };

/** Metrics that an event carries, and the reservations that are settled by it: both are stored together. */
export interface Spent {
  metrics: LlmMetrics;
  settled: readonly number[];
}

interface Reservation {
  /** Null without a budget: nothing is set aside then. */
  id: number | null;
  maxOutputTokens?: number;
}

/**
 * All calls of the model in one run: what the conversation has cost, and that calls made at the same time stay within
 * its budget together. While there is a budget, what a call may cost at most is set aside on disk before it is made,
 * and stays so until an event that says what it did cost is stored. So a crash in between makes no call free: the next
 * run takes what is still set aside for spent.
 */
export class Spending {
  readonly #context: ModelContext;
  /** In tokens; 0 when it is not known. */
  readonly #tokens = { prompt: 0, completion: 0, cacheRead: 0, cacheWrite: 0 };
  readonly #underWay = new Map<number, number>();
  #cost: number;
  #lastId: number;
  /** Counted in, and said by no event yet. */
  #unsaid: { settled: number[] } | null = null;
  #settlement = Promise.withResolvers<void>();
  #ended = false;

  /** @param last the newest metrics of the log, for what the conversation's row does not keep */
  constructor(context: ModelContext, last: LlmMetrics | null) {
    this.#context = context;
    const { spent, reserved = {} } = context;
    const left = Object.entries(reserved).map(([id, dollars]) => ({ id: Number(id), dollars }));
    this.#cost = left.reduce((sum, { dollars }) => sum + dollars, spent.cost);
    this.#lastId = Math.max(0, ...left.map(({ id }) => id));
    if (left.length > 0) this.#unsaid = { settled: left.map(({ id }) => id) };
    this.#tokens.prompt = spent.promptTokens;
    this.#tokens.completion = spent.completionTokens;
    this.#tokens.cacheRead = last?.accumulated_token_usage.cache_read_tokens ?? 0;
    this.#tokens.cacheWrite = last?.accumulated_token_usage.cache_write_tokens ?? 0;
  }

  /** US dollars, without the calls under way. */
  get cost(): number {
    return this.#cost;
  }

  /**
   * Makes a call of the model within the budget. When it does not fit beside those under way, it waits for them.
   *
   * @param retries how it is tried again; not given: once only
   * @throws the request's abort reason
   */
  async ask(request: ModelRequest, size: CallSize, retries?: Retries): Promise<Asked> {
    const attempt = () => this.#attempt(request, size);
    const outcome = retries ? await withRetries(attempt, request.signal, retries) : await attempt();
    if (outcome.ok) return outcome;
    if (outcome.failure === null) return { ok: false, kind: 'exhausted', failure: outcome.exhausted };
    return { ok: false, kind: outcome.failure.kind, failure: modelFailed(outcome.failure) };
  }

  /**
   * What the conversation has cost so far, for the next event that is stored.
   * @param step whose answer the event is
   */
  say(step?: ModelStep): Spent {
    const settled = this.#unsaid?.settled ?? [];
    this.#unsaid = null;
    return { metrics: this.#metrics(step), settled };
  }

  /** The run has ended: what no event says yet is said by one of its own, also later. */
  async end(log: RunLog): Promise<void> {
    this.#ended = true;
    if (!this.#unsaid) return;
    const { metrics, settled } = this.say();
    await log.append([spentEvent(metrics)], settled);
  }

  async #attempt(
    request: ModelRequest,
    size: CallSize,
  ): Promise<ModelOutcome | { ok: false; failure: null; exhausted: Failure }> {
    const reservation = await this.#reserve(size);
    if ('code' in reservation) return { ok: false, failure: null, exhausted: reservation };
    const { id, ...most } = reservation;
    let bytes = 0;
    const onPiece = (piece: string) => void (bytes += Buffer.byteLength(piece));
    const estimate = (): ModelUsage => ({
      promptTokens: size.tokens,
      completionTokens: tokensOfBytes(bytes),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    let outcome: ModelOutcome;
    try {
      outcome = await modelStep({ ...request, ...most, onPiece });
    } catch (error) {
      await this.#interrupted(id, estimate());
      throw error;
    }
    const used = outcome.ok ? outcome.step.usage : outcome.used;
    // Who does not count what it sends is not free.
    await this.#settle(id, used && isNothing(used) ? estimate() : used);
    return outcome;
  }

  async #reserve(size: CallSize): Promise<Reservation | Failure> {
    const { maxBudget, signal } = this.#context;
    if (maxBudget === null) return { id: null };
    for (;;) {
      const underWay = [...this.#underWay.values()].reduce((sum, dollars) => sum + dollars, 0);
      const most = highestCost(this.#context, this.#cost + underWay, size);
      if (most) {
        const { dollars, ...bound } = most;
        const id = (this.#lastId += 1);
        this.#underWay.set(id, dollars);
        await this.#setAside(id, dollars);
        return { id, ...bound };
      }
      if (this.#underWay.size === 0) return budgetExhausted(this.#context, this.#cost);
      await this.#settlement.promise;
      signal.throwIfAborted();
    }
  }

  async #setAside(id: number, dollars: number): Promise<void> {
    try {
      await this.#context.journal.reserve(id, dollars);
    } catch (error) {
      this.#release(id);
      throw error;
    }
  }

  /** @param used nothing, when the call was refused */
  async #settle(id: number | null, used: ModelUsage | undefined): Promise<void> {
    this.#release(id);
    if (used) this.#count(id, used);
    else if (id !== null) await this.#context.journal.reserve(id, 0);
    if (!this.#ended || !this.#unsaid) return;
    const { metrics, settled } = this.say();
    await this.#context.journal.append([spentEvent(metrics)], settled);
  }

  /** Nobody may be there to store an event: what is set aside is lowered to what was used, and the next run counts it. */
  async #interrupted(id: number | null, used: ModelUsage): Promise<void> {
    this.#release(id);
    this.#count(id, used);
    if (id === null) return;
    const dollars = priceOf(this.#context.model.name, used) ?? 0;
    // Another run may drive already; it has counted all that was set aside.
    await this.#context.journal.reserve(id, dollars).catch(() => {});
  }

  #release(id: number | null): void {
    if (id === null) return;
    this.#underWay.delete(id);
    this.#settlement.resolve();
    this.#settlement = Promise.withResolvers();
  }

  #count(id: number | null, usage: ModelUsage): void {
    this.#cost += priceOf(this.#context.model.name, usage) ?? 0;
    this.#tokens.prompt += usage.promptTokens;
    this.#tokens.completion += usage.completionTokens;
    this.#tokens.cacheRead += usage.cacheReadTokens;
    this.#tokens.cacheWrite += usage.cacheWriteTokens;
    this.#unsaid ??= { settled: [] };
    if (id !== null) this.#unsaid.settled.push(id);
  }

  #metrics(step: ModelStep | undefined): LlmMetrics {
    const { model, maxBudget } = this.#context;
    return {
      accumulated_cost: this.#cost,
      max_budget_per_task: maxBudget,
      accumulated_token_usage: {
        model: model.name,
        prompt_tokens: this.#tokens.prompt,
        completion_tokens: this.#tokens.completion,
        cache_read_tokens: this.#tokens.cacheRead,
        cache_write_tokens: this.#tokens.cacheWrite,
        context_window: model.window,
        per_turn_token: step ? step.usage.promptTokens + step.usage.completionTokens : 0,
        response_id: step?.id ?? '',
      },
      costs: [],
      response_latencies: [],
      token_usages: [],
    };
  }
}

function isNothing({ promptTokens, completionTokens }: ModelUsage): boolean {
  return promptTokens === 0 && completionTokens === 0;
}

/** V0's clients are not shown events of this kind. */
function spentEvent(metrics: LlmMetrics): NewEvent {
  return observation('environment', 'null', '', {}, { llm_metrics: metrics });
}
