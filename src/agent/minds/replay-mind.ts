import { agentMessage, errorObservation, stateChanged, userMessage } from '../../events/build.ts';
import type { NewEvent, ToolCallMetadata } from '../../events/event.ts';
import type { AgentContext } from '../context.ts';
import { stepsExhausted } from '../spending/limits.ts';
import type { Decision, Mind } from './mind.ts';
import { type Recorded, recorded, recordedLater } from './record.ts';
import type { RunLog } from '../run-log.ts';
import { toolsToReplay } from '../tools/toolbox.ts';
import type { Tool } from '../tools/tool.ts';
import type { ReplayStep } from '../replay/recording.ts';

/**
 * Does what was recorded, for real and without a model, then hands over. Where it stands is read from the log: each
 * event that repeats a recorded one has its number.
 */
export class ReplayMind implements Mind {
  readonly #context: AgentContext;
  readonly #steps: readonly ReplayStep[];
  readonly #then: Mind;
  readonly #tools: readonly Tool[];

  constructor(context: AgentContext, steps: readonly ReplayStep[], then: Mind) {
    this.#context = context;
    this.#steps = steps;
    this.#then = then;
    this.#tools = toolsToReplay(context);
  }

  introduction(log: RunLog): NewEvent | null {
    return this.#then.introduction(log);
  }

  /** The user's part, in its place. */
  async interject(log: RunLog): Promise<void> {
    for (;;) {
      const n = log.history.replayed;
      const step = this.#steps[n];
      if (step?.kind !== 'user') return;
      await log.append([{ ...userMessage(step.content, step.imageUrls, step.fileUrls), replay: n }]);
    }
  }

  async decide(log: RunLog, iterations: number): Promise<Decision> {
    const n = log.history.replayed;
    const step = this.#steps[n];
    if (!step) return await this.#then.decide(log, iterations);
    const limit = stepsExhausted(this.#context, iterations);
    if (limit) return { ok: false, failure: limit };
    const { events, ...rest } = this.#recorded(step, n);
    return {
      ok: true,
      step: { events: events.map((event, at) => (at === 0 ? { ...event, replay: n } : event)), ...rest },
    };
  }

  later(held: ToolCallMetadata): Recorded {
    return this.#then.later?.(held) ?? recordedLater(held, this.#tools);
  }

  async ended(log: RunLog): Promise<void> {
    await this.#then.ended?.(log);
  }

  #recorded(step: ReplayStep, n: number): Recorded {
    switch (step.kind) {
      case 'call': {
        const { call, thought } = step;
        const answer = {
          id: idOf(n),
          text: thought,
          calls: [{ id: idOf(n), ...this.#offered(call), valid: true as const }],
        };
        return recorded(answer, this.#tools, null);
      }
      case 'said':
        return step.waits
          ? { events: [agentMessage(step.text), stateChanged('awaiting_user_input')], open: [] }
          : { events: [agentMessage(step.text, {}, false)], open: [] };
      case 'unknown': {
        const skipped = `The recording has the action ${JSON.stringify(step.action)}, which no tool of the agent does. It was left out.`;
        return { events: [errorObservation(skipped, '')], open: [] };
      }
      default:
        throw new Error('messages of the user are no decision of the agent');
    }
  }

  /** Who only reads has a tool of its own for it. */
  #offered(call: { name: string; input: Record<string, unknown> }): { name: string; input: unknown } {
    const offered = this.#tools.some(({ name }) => name === call.name);
    const { command, ...input } = call.input;
    return !offered && command === 'view' ? { name: 'view', input } : call;
  }
}

/** Nine letters and digits: the ids that every provider takes. */
function idOf(n: number): string {
  return `r${n.toString(36).padStart(8, '0')}`;
}
