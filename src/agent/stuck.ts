import { hash } from 'node:crypto';

import { errorObservation } from '../events/build.ts';
import { type Event, isAction, isObservation, type NewEvent } from '../events/event.ts';
import { awaits } from '../security/confirmation.ts';
import type { Failure } from './failure.ts';

/** V0's numbers. Waiting for something looks the same for a while, so none of them is small. */
const SAME = 4;
const SAME_ERROR = 3;
const ALTERNATING = 6;
const MONOLOGUE = 3;
/** Different things tried, and each refused. */
const ERRORS = 8;
/** After so many turns that go somewhere a warning is forgotten. */
const FORGOTTEN = 20;
const KEPT = Math.max(SAME, SAME_ERROR, ALTERNATING, ERRORS);

/** Marks the observation that tells the model; the history shows it by that. */
const WARNING = 'AGENT_ERROR$REPEATS_ITSELF';

/** An action and what came of it, each as a digest. */
interface Turn {
  action: string;
  result: string;
  error: boolean;
}

/**
 * Sees whether the agent goes round in circles, folded from the log: a run that takes over sees the same of what is not
 * forgotten. What the user says, and an end in error, begin anew.
 */
export class StuckWatch {
  #turns: Turn[] = [];
  /** What the agent said, one message after the other, without doing anything. */
  #said: string[] = [];
  /** Turns since the model was told; null when it was not. */
  #sinceWarning: number | null = null;
  readonly #unanswered = new Map<number, string>();

  /** `repeats`: the model is to be told; `stuck`: it was told before. */
  get verdict(): 'free' | 'repeats' | 'stuck' {
    if (!goesRound(this.#turns) && !allSame(this.#said, MONOLOGUE)) return 'free';
    return this.#sinceWarning === null ? 'repeats' : 'stuck';
  }

  add(event: Event): void {
    if (isAction(event, 'recall') || endedInError(event)) this.#begin(null);
    else if (isWarning(event)) this.#begin(0);
    else if (isAction(event, 'message') && event.source === 'agent') {
      this.#said = [...this.#said, event.args.content].slice(-MONOLOGUE);
    } else if ('action' in event) this.#acted(event);
    else this.#observed(event);
  }

  #begin(sinceWarning: number | null): void {
    this.#turns = [];
    this.#said = [];
    this.#sinceWarning = sinceWarning;
  }

  #acted(event: Extract<Event, { action: string }>): void {
    if (event.source !== 'agent' || event.action === 'system' || awaits(event)) return;
    // The same thing is done, whatever is thought about it.
    const { thought: _, security_risk: __, ...args } = { thought: '', security_risk: -1, ...event.args };
    const does = event.action === 'think' ? event.args : args;
    this.#unanswered.set(event.id, digest([event.action, does]));
  }

  #observed(event: Extract<Event, { observation: string }>): void {
    const action = event.cause === undefined ? refusedCall(event) : this.#unanswered.get(event.cause);
    if (action === undefined) return;
    if (event.cause !== undefined) this.#unanswered.delete(event.cause);
    const error = isObservation(event, 'error');
    const turn = { action, result: digest([event.observation, event.content, codeOf(event)]), error };
    this.#said = [];
    this.#turns = [...this.#turns, turn].slice(-KEPT);
    if (this.#sinceWarning === null) return;
    this.#sinceWarning += 1;
    if (this.#sinceWarning >= FORGOTTEN) this.#sinceWarning = null;
  }
}

function goesRound(turns: readonly Turn[]): boolean {
  const both = turns.map(({ action, result }) => action + result);
  const last = turns.slice(-SAME_ERROR);
  const sameErrors = last.every(({ error }) => error) && allSame(actionsOf(last), SAME_ERROR);
  return allSame(both, SAME) || sameErrors || alternates(both) || allErrors(turns);
}

function allErrors(turns: readonly Turn[]): boolean {
  return turns.length >= ERRORS && turns.slice(-ERRORS).every(({ error }) => error);
}

function allSame(list: readonly string[], times: number): boolean {
  return list.length >= times && new Set(list.slice(-times)).size === 1;
}

function alternates(list: readonly string[]): boolean {
  const last = list.slice(-ALTERNATING);
  return last.length === ALTERNATING && last.every((one, n) => n < 2 || one === last[n - 2]);
}

function actionsOf(turns: readonly Turn[]): string[] {
  return turns.map(({ action }) => action);
}

/** A call that was wrong has no action, only what was said about it. */
function refusedCall({ tool_call_metadata: call }: Event): string | undefined {
  return call && digest([call.function_name, call.model_response.tool_calls[0]?.input ?? null]);
}

function codeOf(event: Event): number | null {
  return isObservation(event, 'run') ? event.extras.metadata.exit_code : null;
}

function digest(value: unknown): string {
  return hash('sha1', JSON.stringify(value), 'base64');
}

function endedInError(event: Event): boolean {
  return isObservation(event, 'agent_state_changed') && event.extras.agent_state === 'error';
}

/** What the model is told, and the user sees, before it is the end. */
export function warning(): NewEvent {
  return errorObservation(
    'The last steps repeated themselves without getting further. Do something else: find out why it comes out the same, and go another way. To wait for something, wait longer within one command. When there is no way on, say so to the user and ask, or finish and say what is missing.',
    WARNING,
  );
}

export function isWarning(event: Event): event is Extract<Event, { observation: 'error' }> {
  return isObservation(event, 'error') && event.extras.error_id === WARNING;
}

/** The reason is V0's, which its pages know. */
export function stuck(): Failure {
  return {
    state: 'error',
    reason: 'AgentStuckInLoopError: Agent got stuck in a loop',
    runtimeStatus: 'STATUS$ERROR',
    code: 'agent_stuck',
    message: 'The agent repeated itself without getting further, also after it was told so.',
    hint: 'Send a message that says what it should do differently, or what it lacks.',
  };
}
