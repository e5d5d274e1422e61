import { highestPrice, isPriced } from '../../model/price.ts';
import type { ModelContext } from '../context.ts';
import type { Failure } from '../failure.ts';

/** What one call of the model may use at most, in tokens: of its request, and of an answer that is reckoned with. */
export interface CallSize {
  tokens: number;
  longest: number;
}

/** With less left no call is made: its answer would say nothing. */
const SHORTEST_ANSWER = 200;
/** What every model can be told as the limit of its answer: of a larger one some say that it is too large. */
const SURE_LIMIT = 4_096;

/** Why no further step may be taken; asked before each. The reasons are V0's words, which its pages know. */
export function limitReached(
  context: ModelContext,
  stand: { iterations: number; cost: number },
): Failure | null {
  const exhausted = stepsExhausted(context, stand.iterations);
  if (exhausted) return exhausted;
  if (context.maxBudget === null) return null;
  const spent = stand.cost >= allowed(context) || !isPriced(context.model.name);
  return spent ? budgetExhausted(context, stand.cost) : null;
}

/**
 * US dollars to set aside for a call while there is a budget; null when they are not there. Where the longest answer
 * cannot be paid, a shorter one is: then the model has to be told how long it may be.
 *
 * @param taken what the conversation has cost, with the calls under way
 */
export function highestCost(
  context: ModelContext,
  taken: number,
  { tokens, longest }: CallSize,
): { dollars: number; maxOutputTokens?: number } | null {
  const { name } = context.model;
  const room = allowed(context) - taken;
  const most = highestPrice(name, tokens, longest);
  if (most === null) return null;
  if (most <= room) return { dollars: most };
  const read = highestPrice(name, tokens, 0) ?? most;
  const payable = Math.floor(((room - read) / (most - read)) * longest);
  const maxOutputTokens = Math.min(payable, SURE_LIMIT);
  if (!(maxOutputTokens >= Math.min(SHORTEST_ANSWER, longest))) return null;
  const dollars = read + ((most - read) * maxOutputTokens) / longest;
  return { dollars, maxOutputTokens };
}

/** Why no call is made: the budget is used up, but for less than one may cost, or it cannot be kept. */
export function budgetExhausted(context: ModelContext, cost: number): Failure {
  const { name } = context.model;
  if (!isPriced(name)) {
    return stopped(
      'model_price_unknown',
      `The price of the model ${name} is not known, so max_budget_per_task cannot be kept.`,
      'Clear max_budget_per_task in the settings, or choose a model whose price is known.',
    );
  }
  const left = allowed(context) - cost;
  const lacking = left > 0 ? `The $${left.toFixed(4)} that are left may not pay for the next call. ` : '';
  return stopped(
    'budget_exhausted',
    `RuntimeError: Agent reached maximum budget for conversation.Current budget: ${cost.toFixed(2)}, max budget: ${allowed(context).toFixed(2)}`,
    `${lacking}Send a message to allow as much again, or raise max_budget_per_task in the settings.`,
  );
}

function allowed({ maxBudget, budgetFrom = 0 }: ModelContext): number {
  return budgetFrom + (maxBudget ?? Number.POSITIVE_INFINITY);
}

export function stepsExhausted(
  { maxIterations, iterationsFrom = 0 }: Pick<ModelContext, 'maxIterations' | 'iterationsFrom'>,
  iterations: number,
): Failure | null {
  const most = iterationsFrom + maxIterations;
  if (iterations < most) return null;
  return stopped(
    'iterations_exhausted',
    `RuntimeError: Agent reached maximum iteration. Current iteration: ${iterations}, max iteration: ${most}`,
    'Send a message to allow as many steps again, or raise max_iterations in the settings.',
  );
}

function stopped(code: string, reason: string, hint: string): Failure {
  return { state: 'error', reason, runtimeStatus: 'STATUS$ERROR', code, message: reason, hint };
}
