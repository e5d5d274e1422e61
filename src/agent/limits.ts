import { priceOf } from '../model/price.ts';
import type { ModelContext } from './context.ts';
import type { Failure } from './failure.ts';

const NO_TOKENS = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Why no further step may be taken; asked before each. The reasons are V0's words, which its pages know. */
export function limitReached(
  context: ModelContext,
  stand: { iterations: number; cost: number },
): Failure | null {
  const { maxIterations, maxBudget, budgetFrom = 0, model } = context;
  const exhausted = stepsExhausted(maxIterations, stand.iterations);
  if (exhausted) return exhausted;
  if (maxBudget === null) return null;
  if (priceOf(model.name, NO_TOKENS) === null) {
    return stopped(
      'model_price_unknown',
      `The price of the model ${model.name} is not known, so max_budget_per_task cannot be kept.`,
      'Clear max_budget_per_task in the settings, or choose a model whose price is known.',
    );
  }
  const allowed = budgetFrom + maxBudget;
  if (stand.cost < allowed) return null;
  return stopped(
    'budget_exhausted',
    `RuntimeError: Agent reached maximum budget for conversation.Current budget: ${stand.cost.toFixed(2)}, max budget: ${allowed.toFixed(2)}`,
    'Send a message to allow as much again, or raise max_budget_per_task in the settings.',
  );
}

export function stepsExhausted(maxIterations: number, iterations: number): Failure | null {
  if (iterations < maxIterations) return null;
  return stopped(
    'iterations_exhausted',
    `RuntimeError: Agent reached maximum iteration. Current iteration: ${iterations}, max iteration: ${maxIterations}`,
    'Send a message to allow as many steps again, or raise max_iterations in the settings.',
  );
}

function stopped(code: string, reason: string, hint: string): Failure {
  return { state: 'error', reason, runtimeStatus: 'STATUS$ERROR', code, message: reason, hint };
}
