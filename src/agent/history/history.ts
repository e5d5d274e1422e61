import type { SharedV4ProviderMetadata as ProviderMetadata } from '@ai-sdk/provider';

import {
  type ActionEvent,
  type AgentState,
  type Carried,
  type Condensation,
  type Event,
  isAction,
  isCondensation,
  isObservation,
  type LlmMetrics,
  type ToolCallMetadata,
} from '../../events/event.ts';
import { awaits } from '../../security/confirmation.ts';
import { isWarning } from '../stuck.ts';
import { estimateTold, ranTold, recallTold, resultTold, type Told, type UserMessageEvent } from './told.ts';

/** What the model sees in one piece or not at all. */
export type Unit = Span &
  (
    | { kind: 'said'; text: string }
    /** `context`: what is told with it, "" when there is nothing to tell; null until that is known. */
    | { kind: 'user'; messages: UserMessageEvent[]; context: string | null }
    /** What we tell the model ourselves. `of`: the id of the action that it tells of, which the user has had done. */
    | { kind: 'told'; text: string; of?: number }
    | { kind: 'step'; text: string; calls: Call[] }
  );

/**
 * The ids of the first and the last event of a unit. Those of one unit all come before those of the next, but for
 * messages and actions of the user: they come when they like, and have their place where the `recall` or the
 * observation is.
 */
interface Span {
  first: number;
  last: number;
}

type WithoutSpan<U> = U extends Span ? Omit<U, keyof Span> : never;

/** The states in which an answer of the model is still being carried out. */
const GOES_ON: ReadonlySet<AgentState> = new Set<AgentState>([
  'running',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
]);

export interface Call {
  id: string;
  name: string;
  input: unknown;
  metadata?: ProviderMetadata;
  result: Told | null;
}

export type Step = Extract<Unit, { kind: 'step' }>;
type Said = Extract<Unit, { kind: 'user' }>;

/**
 * The conversation as the model is told it, folded from the log, event by event in the order of their ids. The same
 * log gives the same history, in a run that goes on and in one that takes over.
 *
 * A message of the user has its place where the agent took it up, which a `recall` marks, and not where it came in:
 * the model had not seen it before.
 */
export class History {
  #units: Unit[] = [];
  /** What of the history was forgotten, and what stands for it; null before a condensation. */
  carried: Carried | null = null;
  summary: string | null = null;
  /** Messages of the user that the agent has not taken up. */
  readonly pending: UserMessageEvent[] = [];
  /** How many steps of the replay are recorded. */
  replayed = 0;
  readonly #toReplay: number;
  /** What the user said while the replay went on: taken up when it is over, as no one would answer it before. */
  readonly #held: UserMessageEvent[] = [];
  agentState: AgentState = 'loading';
  /** What the newest `system` event says, and the tools that it names. */
  system: string | null = null;
  tools: readonly unknown[] = [];
  metrics: LlmMetrics | null = null;
  /** The newest call of an answer that has calls beyond it, which are not recorded yet. */
  later: ToolCallMetadata | null = null;
  #ended: 'waiting' | 'finished' | null = 'waiting';
  /** What was taken up last, as long as more may come that is told with it. */
  #open: Said | null = null;
  /** The answer of the model whose calls have not all been seen, and how many it lacks. */
  #filling: { step: Step; lacks: number } | null = null;
  readonly #unanswered = new Map<number, Call>();
  /** The action that waits for its user. It comes again with what the user decided. */
  #awaiting: { id: number; call: Call | null } | null = null;
  /** What the user has done by the agent's tools, and is not answered. */
  readonly #ran = new Map<number, ActionEvent>();
  /** Actions that end the task once they are answered. */
  readonly #finishes = new Set<number>();

  /** Why there is nothing to do: the agent asked something or said its word, or it ended the task. */
  get rest(): 'waiting' | 'finished' | null {
    return this.pending.length > 0 ? null : this.#ended;
  }

  /** @param toReplay how many steps are replayed before an agent decides */
  constructor(toReplay = 0) {
    this.#toReplay = toReplay;
  }

  /** What is not forgotten, oldest first. */
  get units(): readonly Unit[] {
    return this.#units;
  }

  /** What the user said first: whatever is forgotten, it stays. Null before the agent was told. */
  get opening(): Unit | null {
    return this.#units.find(({ kind }) => kind === 'user') ?? null;
  }

  /** Whether the agent was ever told what its user said. */
  get begun(): boolean {
    return this.carried !== null || this.opening !== null;
  }

  /** The ids of the user's actions that have no observation yet. */
  get asked(): Iterable<number> {
    return this.#ran.keys();
  }

  add(event: Event): void {
    if (event.llm_metrics) this.metrics = event.llm_metrics;
    if (event.replay !== undefined) this.replayed = Math.max(this.replayed, event.replay + 1);
    if ('observation' in event) this.#observed(event);
    else if (isAction(event, 'message')) this.#said(event);
    else if (isAction(event, 'system') && event.source === 'agent') this.#introduced(event);
    else if (isAction(event, 'recall')) this.#takenUp(event);
    else if (isCondensation(event)) this.#forget(event);
    else if (event.source === 'agent') this.#acted(event);
    else if (event.source === 'user' && event.action !== 'change_agent_state') this.#ran.set(event.id, event);
    if (this.replayed >= this.#toReplay) this.pending.push(...this.#held.splice(0));
  }

  #said(event: Event & UserMessageEvent): void {
    if (event.source === 'user') {
      (event.replay === undefined ? this.#held : this.pending).push(event);
    } else {
      const { content: text, solvability } = event.args;
      if (!solvability) this.#wentOn();
      this.#push(event, solvability ? { kind: 'told', text: estimateTold(text) } : { kind: 'said', text });
      if (event.args.wait_for_response) this.#ended = 'waiting';
    }
  }

  #push(at: Event, unit: WithoutSpan<Unit>): void {
    this.#units.push({ ...unit, first: at.id, last: at.id });
  }

  #forget({ args, carried }: Condensation): void {
    this.#wentOn();
    // All up to there but the first message: what comes before that one is not in the range of what follows it.
    const last = args.forgotten_events_end_id ?? -1;
    const { opening } = this;
    this.#units = this.#units.filter((unit) => unit === opening || unit.first > last);
    this.carried = carried;
    this.summary = args.summary;
    // The agent was at work, whatever the last change of state was that is not forgotten.
    this.agentState = 'running';
  }

  #introduced({ args }: Extract<Event, { action: 'system' }>): void {
    this.system = args.content;
    this.tools = args.tools;
  }

  #takenUp(event: Event): void {
    this.#wentOn();
    const { id } = event;
    this.#open = { kind: 'user', messages: this.pending.splice(0), context: null, first: id, last: id };
    this.#units.push(this.#open);
    this.#ended = null;
  }

  /** Whoever goes on has been told all there is. A recall of knowledge has no observation when there is none. */
  #wentOn(): void {
    if (this.#open) this.#open.context ??= '';
    this.#open = null;
  }

  #acted(event: Extract<Event, { action: string }>): void {
    const { tool_call_metadata: metadata } = event;
    const call = this.#decided() ?? (metadata && this.#called(event, metadata));
    if (call) this.#unanswered.set(event.id, call);
    if (awaits(event)) this.#awaiting = { id: event.id, call: call ?? null };
    if (event.action === 'finish') this.#finishes.add(event.id);
  }

  /** The call of an action that comes again, confirmed or rejected. */
  #decided(): Call | null {
    const awaiting = this.#awaiting;
    if (!awaiting) return null;
    this.#awaiting = null;
    this.#unanswered.delete(awaiting.id);
    return awaiting.call;
  }

  #observed(event: Extract<Event, { observation: string }>): void {
    if (isObservation(event, 'agent_state_changed')) {
      this.agentState = event.extras.agent_state;
      if (!GOES_ON.has(this.agentState)) this.#drop();
    } else if (isObservation(event, 'recall')) {
      const unit = this.#units.findLast(({ kind }) => kind === 'user');
      if (unit?.kind === 'user') {
        unit.context = recallTold(event.extras);
        unit.last = event.id;
      }
    } else if (isWarning(event)) {
      this.#push(event, { kind: 'told', text: event.content });
    } else if (event.cause === undefined) {
      if (event.tool_call_metadata) this.#called(event, event.tool_call_metadata).result = resultTold(event);
    } else {
      this.#answered(event, event.cause);
    }
  }

  #answered(event: Extract<Event, { observation: string }>, cause: number): void {
    const ran = this.#ran.get(cause);
    if (ran !== undefined) {
      this.#ran.delete(cause);
      return this.#push(event, { kind: 'told', text: ranTold(ran, event), of: ran.id });
    }
    const call = this.#unanswered.get(cause);
    this.#unanswered.delete(cause);
    if (call) call.result = resultTold(event);
    const step = this.#units.at(-1);
    if (call && step) step.last = event.id;
    if (this.#awaiting?.id === cause) this.#awaiting = null;
    if (isObservation(event, 'user_rejected')) this.#ended = 'waiting';
    if (this.#finishes.delete(cause) && event.observation !== 'error') this.#ended = 'finished';
  }

  /** What an answer has beyond what is recorded will not be done. */
  #drop(): void {
    this.later = null;
    this.#filling = null;
  }

  /** The events of one answer follow each other, with nothing of another answer between them. */
  #called({ id }: Event, of: ToolCallMetadata): Call {
    const { tool_call_id, function_name, model_response, total_calls_in_response } = of;
    const own = model_response.tool_calls.find((call) => call.id === tool_call_id);
    // Goes back as it came from `ModelCall`.
    const metadata = own?.metadata === undefined ? {} : { metadata: own.metadata as ProviderMetadata };
    const call = {
      id: tool_call_id,
      name: function_name,
      input: own?.input ?? {},
      ...metadata,
      result: null,
    };
    if (!this.#filling) {
      this.#wentOn();
      const step: Step = { kind: 'step', text: model_response.content, calls: [], first: id, last: id };
      this.#units.push(step);
      this.#filling = { step, lacks: total_calls_in_response };
    }
    this.#filling.step.calls.push(call);
    this.#filling.step.last = id;
    this.later = model_response.later ? of : null;
    this.#filling.lacks -= 1;
    if (this.#filling.lacks <= 0) this.#filling = null;
    return call;
  }
}
