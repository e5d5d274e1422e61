import { ServiceError } from '../../errors.ts';
import { errorObservation, observation, stateChanged } from '../../events/build.ts';
import { type ActionEvent, type Event, isAction, type NewEvent } from '../../events/event.ts';
import { notDone, STOPPED, unknownOutcome } from '../../events/not-done.ts';
import type { OpenAction } from '../../events/open-action.ts';
import type { AgentContext, AgentOutcome } from '../context.ts';
import { type Failure, sandboxFailed } from '../failure.ts';
import type { Mind } from '../minds/mind.ts';
import type { Recorded } from '../minds/record.ts';
import { RunLog } from '../run-log.ts';
import { carryOut, hasEffect } from '../tools/carry-out.ts';
import type { ProviderWrite } from '../tools/provider/hosted.ts';
import { unknownWrite } from '../tools/provider/provider-tools.ts';
import { beginStep } from './begin-step.ts';
import { Guard } from './guard.ts';
import { takeUp } from './taking-up.ts';

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
      if (this.#log.history.rest) await this.#doAsked();
      const { rest } = this.#log.history;
      if (rest) return await this.#rest(rest);
      await takeUp(this.#log, this.#context, first ? this.#mind.introduction(this.#log) : null);
      // Not before: the first that the agent is told is what its user said first.
      await this.#doAsked();
      const end = await this.#step();
      if (end) return end;
    }
  }

  /** Carries out what the user has asked for, and wakes no agent. */
  async serveUser(): Promise<void> {
    await this.#log.open(this.#context.condensation ?? -1);
    await this.#tellBegun(await this.#context.journal.openActions());
    await this.#doAsked();
  }

  /**
   * Ends the run from outside its steps. What is open of the agent's is answered, so that no later run does it; what
   * the user has asked for is done by the next.
   */
  async giveUp(failure: Failure): Promise<AgentOutcome> {
    const open = await this.#context.journal.openActions();
    const answers = open
      .filter(({ state }) => state === 'started' || state === 'recorded')
      .map(({ eventId, state }) =>
        state === 'started' ? unknownOutcome(eventId) : notDone(eventId, failure.message),
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
    await this.#tellBegun(due);

    const recorded = due.filter(({ state }) => state === 'recorded');
    const pages = await Promise.all(recorded.map(({ eventId }) => journal.read(eventId, 1)));
    // V0 says of a confirmed action that the agent runs again only after it was done.
    const { agentState } = this.#log.history;
    if (recorded.length > 0 && agentState !== 'running' && agentState !== 'user_confirmed') {
      await this.#log.append([stateChanged('running')]);
    }
    const failure = await this.#carryOut(pages.flat(), null);
    if (failure) return await this.#fail(failure);
    if (awaiting !== -1) return { kind: 'waiting' };
    if (this.#log.history.agentState === 'user_confirmed') await this.#log.append([stateChanged('running')]);
    return null;
  }

  /** What a former run had begun is never repeated. */
  async #tellBegun(open: readonly OpenAction[]): Promise<void> {
    const begun = open.filter(({ state }) => state === 'started');
    if (begun.length === 0) return;
    const unknown = begun.map(({ eventId }) => unknownOutcome(eventId));
    await this.#log.answer(unknown, await this.#writesOf(begun));
  }

  /**
   * What the user has asked for, between two steps of the agent. It has the shell for itself, and stands between no
   * action of the agent and its observation: while one awaits a decision, it waits too.
   */
  async #doAsked(): Promise<void> {
    const { journal } = this.#context;
    const open = await journal.openActions();
    if (open.some(({ state }) => state === 'awaiting')) return;
    const asked = open.flatMap(({ eventId, state }) => (state === 'asked' ? [eventId] : []));
    for (const [n, id] of asked.entries()) {
      const failure = await this.#carryOut(await journal.read(id, 1), null);
      if (!failure) continue;
      const left = asked.slice(n + 1).map((later) => notDone(later, failure.message));
      if (left.length > 0) await this.#log.answer(left);
      return;
    }
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
    const { events, ...record } = beginStep(checked, this.#log.tasks.tasks);
    const written = await this.#log.recordStep(events, { iterations: this.#iterations, ...record });
    const { open, started, awaiting } = record;
    if (awaiting !== undefined) {
      await this.#mind.ended?.(this.#log);
      return { kind: 'waiting' };
    }
    const actions = open.flatMap((n) => written[n] ?? []);
    const startedId = started === undefined ? null : (written[started]?.id ?? null);
    const failure = await this.#carryOut(actions, startedId);
    return failure && (await this.#fail(failure));
  }

  /**
   * Does actions in their order. `begun`: the id of the one that is recorded as started already. Gives why none of
   * them could be done any more; those are answered with it.
   */
  async #carryOut(events: readonly Event[], begun: number | null): Promise<Failure | null> {
    const { journal, signal } = this.#context;
    for (const [n, event] of events.entries()) {
      if (!('action' in event)) continue;
      const later = events.slice(n + 1);
      if (isAction(event, 'finish')) {
        const ended = observation('environment', 'null', '', {}, { cause: event.id });
        const reason = 'This was not done: the task was finished before it.';
        const left = later.map(({ id }) => notDone(id, reason));
        await this.#log.answer([ended, ...left, stateChanged('finished')]);
        return null;
      }
      // What is recorded as started is tried even then: it is not to be left with an outcome that nobody knows.
      if (event.id !== begun) {
        signal.throwIfAborted();
        if (hasEffect(event)) await journal.start(event.id);
      }
      const result = await this.#result(event);
      if ('failure' in result) {
        const { message } = result.failure;
        await this.#log.answer([event, ...later].map(({ id }) => notDone(id, message)));
        return result.failure;
      }
      await this.#log.answer([{ ...result.event, cause: event.id }], result.writes);
    }
    return null;
  }

  /** What was begun at the provider when a former run broke off: it may have been done. */
  async #writesOf(open: readonly OpenAction[]): Promise<ProviderWrite[]> {
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
