import { ServiceError } from '../errors.ts';
import { errorObservation, observation, stateChanged } from '../events/build.ts';
import { type ActionEvent, type Event, isAction, type NewEvent } from '../events/event.ts';
import { begun } from './begin-step.ts';
import type { AgentContext, AgentOutcome } from './context.ts';
import { type Failure, sandboxFailed } from './failure.ts';
import { Guard } from './guard.ts';
import type { OpenJournalAction } from './journal.ts';
import type { Mind } from './mind.ts';
import type { Recorded } from './record.ts';
import { RunLog } from './run-log.ts';
import { takeUp } from './taking-up.ts';
import { carryOut, hasEffect } from './tools/carry-out.ts';
import type { ProviderWrite } from './tools/provider/hosted.ts';
import { unknownWrite } from './tools/provider/provider-tools.ts';

/** V0's ids for an action that was recorded and not carried out: its pages have words for them. */
const NOT_EXECUTED = 'AGENT_ERROR$ERROR_ACTION_NOT_EXECUTED_ERROR';
const STOPPED = 'AGENT_ERROR$ERROR_ACTION_NOT_EXECUTED_STOPPED';

/** One run: what a former one left, then step after step. See `runAgent`. */
export class Run {
  readonly #context: AgentContext;
  readonly #mind: Mind;
  readonly #log: RunLog;
  #guard: Guard | null = null;
  #iterations: number;

  constructor(context: AgentContext, mind: Mind) {
    this.#context = context;
    this.#mind = mind;
    this.#log = new RunLog(context.journal, context.replay?.length);
    this.#iterations = context.iterations;
  }

  async drive(): Promise<AgentOutcome> {
    await this.#log.open(this.#context.condensation ?? -1);
    const left = await this.#settle();
    if (left) return left;
    for (let first = true; ; first = false) {
      this.#context.signal.throwIfAborted();
      if (!first) await this.#log.catchUp();
      const more = await this.#goOn();
      if (more === 'stepped') continue;
      if (more) return more;
      await this.#mind.interject?.(this.#log);
      const { rest } = this.#log.history;
      if (rest) return await this.#rest(rest);
      await takeUp(this.#log, this.#context, first ? this.#mind.introduction(this.#log) : null);
      const end = await this.#step();
      if (end) return end;
    }
  }

  /** Ends the run from outside its steps. What is open is answered, so that no later run does it. */
  async giveUp(failure: Failure): Promise<AgentOutcome> {
    const open = await this.#context.journal.openActions();
    const answers = open
      .filter(({ state }) => state !== 'awaiting')
      .map(({ eventId: id, state }) =>
        state === 'started'
          ? unknownOutcome(id)
          : errorObservation(failure.message, NOT_EXECUTED, { cause: id }),
      );
    if (answers.length > 0) await this.#log.answer(answers, await this.#writesOf(open));
    return await this.#fail(failure);
  }

  /** What a former run left open. An outcome when there is nothing more to do. */
  async #settle(): Promise<AgentOutcome | null> {
    const { journal } = this.#context;
    const open = (await journal.openActions()).toSorted((a, b) => a.eventId - b.eventId);
    const awaiting = open.findIndex(({ state }) => state === 'awaiting');
    const due = awaiting === -1 ? open : open.slice(0, awaiting);

    const started = due.filter(({ state }) => state === 'started');
    if (started.length > 0) {
      const unknown = started.map(({ eventId }) => unknownOutcome(eventId));
      await this.#log.answer(unknown, await this.#writesOf(started));
    }

    const recorded = due.filter(({ state }) => state === 'recorded');
    const pages = await Promise.all(recorded.map(({ eventId }) => journal.read(eventId, 1)));
    // V0 says of a confirmed action that the agent runs again only after it was done.
    const { agentState } = this.#log.history;
    if (recorded.length > 0 && agentState !== 'running' && agentState !== 'user_confirmed') {
      await this.#log.append([stateChanged('running')]);
    }
    const end = await this.#carryOut(pages.flat(), null);
    if (end) return end;
    if (awaiting !== -1) return { kind: 'waiting' };
    if (this.#log.history.agentState === 'user_confirmed') await this.#log.append([stateChanged('running')]);
    return null;
  }

  /** The calls of the model's last answer that an action before them held up, before anything else is decided. */
  async #goOn(): Promise<AgentOutcome | 'stepped' | null> {
    const held = this.#log.history.later;
    const step = held && this.#mind.later?.(held);
    if (!step) return null;
    return (await this.#record(step)) ?? 'stepped';
  }

  async #rest(rest: 'waiting' | 'finished'): Promise<AgentOutcome> {
    const state = rest === 'finished' ? 'finished' : 'awaiting_user_input';
    if (this.#log.history.agentState !== state) await this.#log.append([stateChanged(state)]);
    await this.#mind.ended?.(this.#log);
    return { kind: rest };
  }

  async #step(): Promise<AgentOutcome | null> {
    const decision = await this.#mind.decide(this.#log, this.#iterations);
    if (!decision.ok) return await this.#fail(decision.failure);
    this.#iterations += 1;
    return await this.#record(decision.step);
  }

  async #record(step: Recorded): Promise<AgentOutcome | null> {
    this.#guard ??= await Guard.open(this.#context);
    const { workspaceRoot: root = '/workspace' } = this.#context;
    const checked = this.#guard.check(step, { root, cwd: this.#log.cwd });
    const { events, ...record } = begun(checked, this.#log.tasks.tasks);
    const written = await this.#log.recordStep(events, { iterations: this.#iterations, ...record });
    const { open, started, awaiting } = record;
    if (awaiting !== undefined) {
      await this.#mind.ended?.(this.#log);
      return { kind: 'waiting' };
    }
    const actions = open.flatMap((n) => written[n] ?? []);
    return await this.#carryOut(actions, started === undefined ? null : (written[started]?.id ?? null));
  }

  /** Does the actions of a step in their order. `begun`: the id of the one that is recorded as started already. */
  async #carryOut(events: readonly Event[], begun: number | null): Promise<AgentOutcome | null> {
    const { journal, signal } = this.#context;
    for (const [n, event] of events.entries()) {
      if (!('action' in event)) continue;
      const later = events.slice(n + 1);
      if (isAction(event, 'finish')) {
        const ended = observation('environment', 'null', '', {}, { cause: event.id });
        const reason = 'This was not done: the task was finished before it.';
        await this.#log.answer([ended, ...notDone(later, reason), stateChanged('finished')]);
        return null;
      }
      // What is recorded as started is tried even then: it is not to be left with an outcome that nobody knows.
      if (event.id !== begun) {
        signal.throwIfAborted();
        if (hasEffect(event)) await journal.start(event.id);
      }
      const result = await this.#result(event);
      if ('failure' in result) {
        await this.#log.answer(notDone([event, ...later], result.failure.message));
        return await this.#fail(result.failure);
      }
      await this.#log.answer([{ ...result.event, cause: event.id }], result.writes);
    }
    return null;
  }

  /** What was begun at the provider when a former run broke off: it may have been done. */
  async #writesOf(open: readonly OpenJournalAction[]): Promise<ProviderWrite[]> {
    const begun = open.filter(({ state }) => state === 'started');
    const pages = await Promise.all(begun.map(({ eventId }) => this.#context.journal.read(eventId, 1)));
    const repository = this.#context.repository?.name ?? '';
    return pages.flat().flatMap((event) => unknownWrite(event, repository) ?? []);
  }

  async #result(
    action: ActionEvent,
  ): Promise<{ event: NewEvent; writes?: ProviderWrite[] } | { failure: Failure }> {
    const { signal, search, mcp, hosted } = this.#context;
    const { edits, tasks } = this.#log;
    const outside = { ...(search && { search }), ...(mcp && { mcp }), ...(hosted && { hosted }) };
    const sandbox = () => this.#context.sandbox();
    const writes: ProviderWrite[] = [];
    const wrote = (write: ProviderWrite): void => void writes.push(write);
    const bench = { sandbox, signal, edits, tasks, wrote, ...outside };
    try {
      return { event: await carryOut(action, bench), writes };
    } catch (error) {
      // A command that is interrupted has an outcome; only the wait for a sandbox ends like this.
      if (signal.aborted)
        return { event: errorObservation('This was not begun: the conversation was stopped.', STOPPED) };
      if (error instanceof ServiceError && error.code === 'sandbox_unavailable') {
        return { failure: sandboxFailed(error.message) };
      }
      throw error;
    }
  }

  async #fail(failure: Failure): Promise<AgentOutcome> {
    await this.#mind.ended?.(this.#log);
    return { kind: 'failed', ...failure };
  }
}

function unknownOutcome(cause: number): NewEvent {
  return errorObservation(
    'The service was interrupted while this was being done, so its outcome is not known: it may have had all, a part or none of its effect. It was not repeated. Look at what is there before you go on.',
    NOT_EXECUTED,
    { cause },
  );
}

function notDone(actions: readonly Event[], reason: string): NewEvent[] {
  return actions.map(({ id }) => errorObservation(reason, NOT_EXECUTED, { cause: id }));
}
