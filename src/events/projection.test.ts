import assert from 'node:assert/strict';
import { test } from 'node:test';
import { action, agentMessage, observation, stateChanged, userMessage } from './build.ts';
import type { LlmMetrics, NewEvent } from './event.ts';
import { EMPTY_PROJECTION, project } from './projection.ts';

const metrics: LlmMetrics = {
  accumulated_cost: 0.25,
  max_budget_per_task: null,
  accumulated_token_usage: {
    model: 'any',
    prompt_tokens: 100,
    completion_tokens: 20,
    cache_read_tokens: 5,
    cache_write_tokens: 6,
    context_window: 1000,
    per_turn_token: 120,
    response_id: 'one',
  },
  costs: [],
  response_latencies: [],
  token_usages: [],
};

const fold = (events: readonly NewEvent[]) =>
  events.reduce((before, event, id) => project(before, { ...event, id }), EMPTY_PROJECTION);

test('a log without events is a conversation that loads and has cost nothing', () => {
  assert.deepEqual(fold([]), {
    agentState: 'loading',
    accumulatedCost: 0,
    promptTokens: 0,
    completionTokens: 0,
    lastUserMessage: -1,
    condensation: -1,
  });
});

test('the state is that of the last change of state', () => {
  const events = [stateChanged('running'), stateChanged('finished'), agentMessage('Done.')];
  assert.equal(fold(events).agentState, 'finished');
});

test('a wish for a state is not a state', () => {
  const wish = action('user', 'change_agent_state', '', { agent_state: 'stopped', thought: '' });
  assert.equal(fold([stateChanged('running'), wish]).agentState, 'running');
});

test("the last message of the user is known by its id, the agent's are not counted", () => {
  assert.equal(
    fold([userMessage('a'), agentMessage('b'), userMessage('c'), agentMessage('d')]).lastUserMessage,
    2,
  );
});

test('cost and tokens are those of the last action that has them', () => {
  const more = { ...metrics, accumulated_cost: 0.5 };
  const events = [
    agentMessage('a', { llm_metrics: metrics }),
    agentMessage('b', { llm_metrics: more }),
    userMessage('c'),
  ];
  const { accumulatedCost, promptTokens, completionTokens } = fold(events);
  assert.deepEqual([accumulatedCost, promptTokens, completionTokens], [0.5, 100, 20]);
});

test('other events change nothing, and no projection is changed in place', () => {
  const before = Object.freeze(fold([userMessage('a'), stateChanged('running')]));
  const events = [observation('agent', 'think', 'x', {}), action('agent', 'think', 'x', { thought: 'x' })];
  for (const event of events) assert.deepEqual(project(before, { ...event, id: 9 }), before);
  project(before, { ...userMessage('b'), id: 10 });
});
