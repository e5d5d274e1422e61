import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AgentContext } from '../agent/context.ts';
import type { Journal } from '../agent/journal.ts';
import type { Conversation } from '../conversations/store.ts';
import { agentMessage } from '../events/build.ts';
import type { LlmMetrics } from '../events/event.ts';
import type { StepUse } from '../observe/metrics.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandbox/sandbox.ts';
import type { End } from './driver.ts';
import { measuredAgent, measuredProvider, measuredStretch } from './measured.ts';

// What is measured passes these on and does not look into them.
const ROW = {} as Conversation;
const SPEC = {} as SandboxSpec;
const SANDBOX = {} as Sandbox;

function used(prompt: number, cached: number, cost: number): LlmMetrics {
  return {
    accumulated_cost: cost,
    max_budget_per_task: null,
    accumulated_token_usage: {
      model: 'm',
      prompt_tokens: prompt,
      completion_tokens: prompt / 10,
      cache_read_tokens: cached,
      cache_write_tokens: 0,
      context_window: 0,
      per_turn_token: 0,
      response_id: '',
    },
    costs: [],
    response_latencies: [],
    token_usages: [],
  };
}

describe('measured', () => {
  test('runs end done, failed or interrupted', async () => {
    const outcomes: string[] = [];
    const metrics = { runEnded: (outcome: string) => void outcomes.push(outcome) };
    const end = (error: End['change']['error']): End => ({
      events: [],
      change: { error: error ?? null },
      unfinished: false,
      seen: 0,
    });
    const run = (stretch: () => Promise<End>, signal = new AbortController().signal) =>
      measuredStretch(stretch, metrics)(ROW, signal);
    await run(() => Promise.resolve(end(null)));
    await run(() => Promise.resolve(end({ code: 'c', message: 'm', hint: 'h' })));
    const thrown = new Error('broken');
    await assert.rejects(
      run(() => Promise.reject(thrown)),
      thrown,
    );
    await assert.rejects(
      run(() => Promise.reject(thrown), AbortSignal.abort()),
      thrown,
    );
    assert.deepEqual(outcomes, ['done', 'failed', 'failed', 'interrupted']);
  });

  test('steps count what they used beyond the step before', async () => {
    const steps: StepUse[] = [];
    const recordStep: Journal['recordStep'] = (events) =>
      Promise.resolve(events.map((event, id) => ({ id, timestamp: '', ...event })));
    const context = {
      journal: { recordStep } as Journal,
      spent: { cost: 1, promptTokens: 100, completionTokens: 10 },
    } as AgentContext;
    const agent = measuredAgent(
      async ({ journal }) => {
        const step = { iterations: 1, open: [] };
        await journal.recordStep([agentMessage('a', { llm_metrics: used(300, 50, 1.5) })], step);
        await journal.recordStep([], step);
        await journal.recordStep([agentMessage('b', { llm_metrics: used(400, 90, 2) })], step);
        return { kind: 'waiting' };
      },
      { step: (use) => void steps.push(use) },
    );
    await agent(context);
    const zero = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cost: 0 };
    assert.deepEqual(steps, [
      { ...zero, promptTokens: 200, completionTokens: 20, cost: 0.5 },
      zero,
      { ...zero, promptTokens: 100, completionTokens: 10, cacheReadTokens: 40, cost: 0.5 },
    ]);
  });

  test('sandboxes start, fail, or are given up', async () => {
    const seen: string[] = [];
    const outcomes = [() => Promise.resolve(SANDBOX), () => Promise.reject(new Error('no'))];
    const provider = {
      open: () => outcomes[0]?.() ?? Promise.resolve(SANDBOX),
    } as unknown as SandboxProvider;
    const measured = measuredProvider(provider, {
      sandboxStarted: (seconds) => void seen.push(seconds >= 0 ? 'started' : 'never'),
      sandboxFailed: () => void seen.push('failed'),
    });
    assert.equal(await measured.open(SPEC, new AbortController().signal), SANDBOX);
    outcomes.shift();
    await assert.rejects(measured.open(SPEC, new AbortController().signal));
    await assert.rejects(measured.open(SPEC, AbortSignal.abort()));
    assert.deepEqual(seen, ['started', 'failed']);
  });
});
