import { type AgentState, isCondensation, type NewEvent } from './event.ts';

/** What a conversation's row says about its log, so that nobody has to read the log to know it. */
export interface Projection {
  agentState: AgentState;
  accumulatedCost: number;
  promptTokens: number;
  completionTokens: number;
  /** The id of the newest message of the user, -1 before the first. */
  lastUserMessage: number;
  /** The id of the newest `condensation`: where a run begins to read. -1 before the first. */
  condensation: number;
}

export const EMPTY_PROJECTION: Projection = {
  agentState: 'loading',
  accumulatedCost: 0,
  promptTokens: 0,
  completionTokens: 0,
  lastUserMessage: -1,
  condensation: -1,
};

/** The projection after one more event. The row equals the fold of this over the log, always. */
export function project(before: Projection, event: NewEvent & { id: number }): Projection {
  const after = { ...before };
  if ('observation' in event) {
    if (event.observation === 'agent_state_changed') after.agentState = event.extras.agent_state;
  } else if (event.action === 'message' && event.source === 'user') after.lastUserMessage = event.id;
  else if (isCondensation(event)) after.condensation = event.id;
  if (event.llm_metrics) {
    const { accumulated_cost, accumulated_token_usage } = event.llm_metrics;
    after.accumulatedCost = accumulated_cost;
    after.promptTokens = accumulated_token_usage.prompt_tokens;
    after.completionTokens = accumulated_token_usage.completion_tokens;
  }
  return after;
}
