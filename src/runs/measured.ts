import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import type { Journal } from '../agent/journal.ts';
import type { NewEvent } from '../events/event.ts';
import type { Metrics, StepUse } from '../observe/metrics.ts';
import type { SandboxProvider } from '../sandbox/sandbox.ts';
import type { Stretch } from './driver.ts';

/** The same, with the outcome of each run counted. */
export function measuredStretch(stretch: Stretch, metrics: Pick<Metrics, 'runEnded'>): Stretch {
  return async (row, signal) => {
    try {
      const end = await stretch(row, signal);
      metrics.runEnded(end.change.error ? 'failed' : 'done');
      return end;
    } catch (error) {
      metrics.runEnded(signal.aborted ? 'interrupted' : 'failed');
      throw error;
    }
  };
}

const NOTHING: StepUse = {
  promptTokens: 0,
  completionTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: 0,
};

type RunAgent = (context: AgentContext) => Promise<AgentOutcome>;

/** The same, with its steps counted once they are on disk, and what they used. */
export function measuredAgent(runAgent: RunAgent, metrics: Pick<Metrics, 'step'>): RunAgent {
  return (context) => runAgent({ ...context, journal: countingJournal(context, metrics) });
}

/** Of what the conversation has used so far, which is what an event carries, the difference is what a step used. */
function countingJournal({ journal, spent }: AgentContext, metrics: Pick<Metrics, 'step'>): Journal {
  const former = { ...spent };
  // What was read from and written to a cache is not kept on the row: it is known of the first step of all, and then
  // from one step to the next.
  let cache = spent.promptTokens === 0 ? { read: 0, write: 0 } : null;
  const count = (events: readonly NewEvent[]): void => {
    const used = events.map((event) => event.llm_metrics).find(Boolean);
    // A step that no model was asked for carries none.
    if (!used) return metrics.step(NOTHING);
    const { prompt_tokens, completion_tokens, cache_read_tokens, cache_write_tokens } =
      used.accumulated_token_usage;
    metrics.step({
      promptTokens: Math.max(0, prompt_tokens - former.promptTokens),
      completionTokens: Math.max(0, completion_tokens - former.completionTokens),
      cacheReadTokens: cache ? Math.max(0, cache_read_tokens - cache.read) : 0,
      cacheWriteTokens: cache ? Math.max(0, cache_write_tokens - cache.write) : 0,
      cost: Math.max(0, used.accumulated_cost - former.cost),
    });
    former.cost = used.accumulated_cost;
    former.promptTokens = prompt_tokens;
    former.completionTokens = completion_tokens;
    cache = { read: cache_read_tokens, write: cache_write_tokens };
  };
  return {
    append: (events, settled) => journal.append(events, settled),
    reserve: (call, dollars) => journal.reserve(call, dollars),
    recordStep: async (events, step) => {
      const recorded = await journal.recordStep(events, step);
      count(recorded);
      return recorded;
    },
    start: (eventId) => journal.start(eventId),
    answer: (...answered) => journal.answer(...answered),
    openActions: () => journal.openActions(),
    read: (from, limit) => journal.read(from, limit),
    lastUserMessage: () => journal.lastUserMessage(),
  };
}

/** The same, with the starts of sandboxes timed and their failures counted; one that was interrupted is neither. */
export function measuredProvider(
  provider: SandboxProvider,
  metrics: Pick<Metrics, 'sandboxStarted' | 'sandboxFailed'>,
): SandboxProvider {
  return {
    get report() {
      return provider.report;
    },
    open: async (spec, signal) => {
      const began = performance.now();
      try {
        const sandbox = await provider.open(spec, signal);
        metrics.sandboxStarted((performance.now() - began) / 1000);
        return sandbox;
      } catch (error) {
        if (!signal.aborted) metrics.sandboxFailed();
        throw error;
      }
    },
    discard: (spec) => provider.discard(spec),
    close: () => provider.close(),
  };
}
