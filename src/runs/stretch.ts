import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import { modelMissing } from '../agent/failure.ts';
import { openingOf } from '../agent/opening.ts';
import { readRecording } from '../agent/replay/recording.ts';
import { agentIsDue, type Conversation } from '../conversations/store.ts';
import { ownServers } from '../conversations/own-servers.ts';
import { requestOf, storedRequest } from '../conversations/request.ts';
import { errorObservation, stateAsked, stateChanged } from '../events/build.ts';
import { isObservation, type NewEvent } from '../events/event.ts';
import { redactEvent } from '../events/redact.ts';
import { secretsOf } from '../mcp/server.ts';
import { contextOf, modelOf } from './agent-context.ts';
import type { CloneFailure } from './prepare/clone-failure.ts';
import type { End, Stretch } from './driver.ts';
import { patient } from './patient.ts';
import type { RunJournal } from './journal.ts';
import { prepare } from './prepare/prepare.ts';
import { journalOf, mcpOf, type Stand, type StretchOptions } from './stand.ts';
import { workplaceOf } from './workplace.ts';

/**
 * One stretch of driving: makes the workspace when it is not made yet, then lets the agent work until it waits, ends
 * or fails. What a start needs and what the agent does are told apart by the row: `prepared`, `unfinished`.
 */
export function stretchWith(given: StretchOptions): Stretch {
  return async (row, signal) => {
    const options = { ...given, transact: patient(given.transact, signal) };
    const settings = await options.snapshot(row.userId);
    const request = storedRequest(await requestOf(options, row));
    const stand: Stand = {
      row,
      settings,
      request,
      redactor: options.redactor(settings, secretsOf(ownServers(request))),
      workplace: workplaceOf(row, settings, options),
      signal,
    };
    const starts = row.status === 'STARTING';
    const failed = starts ? await prepare(options, stand) : null;
    if (failed) return told(options, stand, failedStart(stand, failed));
    const release = options.sandboxes.use(row.key);
    try {
      return await (agentIsDue(row) ? work(options, stand) : rest(options, stand, starts));
    } finally {
      release();
    }
  };
}

async function work(options: StretchOptions, stand: Stand): Promise<End> {
  const { row, settings, request, redactor } = stand;
  const recording = request.replay_json ? readRecording(request.replay_json) : null;
  const replay = recording?.ok ? recording.steps : [];
  const journal = journalOf(options, stand);
  const { model, problem } = await modelOf(options, settings);
  // What is replayed needs none, nor what a former run left to be done; what comes after it says so itself.
  const goes =
    model !== null ||
    settings.agent === 'DummyAgent' ||
    replay.length > 0 ||
    (await journal.openActions()).some(({ state }) => state !== 'asked');
  if (problem !== null || !goes) {
    await begin(stand, journal, null);
    return told(options, stand, noModel(row, problem ?? undefined));
  }
  const mcp = await mcpOf(options, stand, journal);
  const context: AgentContext = {
    ...contextOf(options, stand, journal, model),
    replay,
    ...(mcp && { mcp }),
  };
  await begin(stand, journal, () => options.introductionOf(context));
  const outcome = await options.runAgent(context);
  options.ran?.(row.userId, { agent: settings.agent, outcome: outcome.kind });
  if (outcome.kind === 'aborted') stand.signal.throwIfAborted();
  return told(options, stand, endOf(outcome, Math.max(journal.seen, row.lastUserMessage), redactor.redact));
}

/** Tells who watches of an error, as V0 does beside the state that the log gets; of a rate limit the state says it all. */
function told(options: StretchOptions, { row }: Stand, end: End): End {
  const last = end.events.at(-1);
  const id = end.change.runtimeStatus;
  if (id && last && isObservation(last, 'agent_state_changed') && last.extras.agent_state === 'error') {
    const { reason: message } = last.extras;
    options.notify(row.key, { status_update: true, type: 'error', id, message });
  }
  return end;
}

/**
 * Nothing to do for the agent: what its user has asked for is carried out. To whom nobody has spoken yet the agent
 * introduces itself; no MCP server is connected for that.
 */
async function rest(options: StretchOptions, stand: Stand, starts: boolean): Promise<End> {
  const journal = journalOf(options, stand);
  await begin(stand, journal, async () => {
    const { model } = await modelOf(options, stand.settings);
    return await options.introductionOf(contextOf(options, stand, journal, model));
  });
  if ((await journal.openActions()).length > 0) {
    const mcp = await mcpOf(options, stand, journal);
    const context = { ...contextOf(options, stand, journal, null), ...(mcp && { mcp }) };
    if (!(await options.serveUser(context))) stand.signal.throwIfAborted();
  }
  return resting(stand.row, starts);
}

/**
 * Begins the log of a conversation that is ready, in V0's order: how the agent introduces itself, then what its user
 * says first. Once its user has spoken it is begun.
 */
async function begin(
  { row, request }: Stand,
  journal: RunJournal,
  introduction: (() => Promise<NewEvent | null>) | null,
): Promise<void> {
  if (row.lastUserMessage >= 0) return;
  const { message } = openingOf(row.id, request);
  // What follows in this stretch, its end too, reads the row: from here on this was said.
  row.lastUserMessage = await journal.begin((await introduction?.()) ?? null, message);
}

function endOf(outcome: AgentOutcome, seen: number, redact: (text: string) => string): End {
  if (outcome.kind === 'failed') {
    const { state, reason, runtimeStatus, code, message, hint } = outcome;
    return {
      events: [stateChanged(state, redact(reason))],
      change: { runtimeStatus, error: { code, message: redact(message), hint } },
      unfinished: true,
      seen,
    };
  }
  return {
    events: [],
    change: { runtimeStatus: 'STATUS$READY', error: null },
    unfinished: false,
    seen,
  };
}

/** Nothing to do but to wait for the user. An agent that rested before is in the state that says how. */
function resting({ agentState, lastUserMessage }: Conversation, starts: boolean): End {
  const state = 'awaiting_user_input';
  const ready = agentState === 'loading' || (starts && agentState !== state && agentState !== 'paused');
  const asked = stateAsked(state, 'The agent waits for its user');
  return {
    events: ready ? [asked, stateChanged(state)] : [],
    change: {},
    unfinished: null,
    seen: lastUserMessage,
  };
}

function failedStart({ row, redactor: { redact } }: Stand, { runtimeStatus, error }: CloneFailure): End {
  const said = { ...error, message: redact(error.message) };
  const events: NewEvent[] = [
    errorObservation(`${said.message} ${said.hint}`, runtimeStatus),
    stateChanged('error', said.message),
  ];
  return {
    events: events.map((event) => redactEvent(event, redact)),
    change: { status: 'ERROR', runtimeStatus, error: said },
    unfinished: row.unfinished,
    undone: `This was not begun: the conversation could not start. ${said.message}`,
    seen: row.lastUserMessage,
  };
}

function noModel(row: Conversation, why?: string): End {
  const { reason, runtimeStatus, code, message, hint } = modelMissing(why);
  return {
    events: [errorObservation(reason, runtimeStatus), stateChanged('error', reason)],
    change: { runtimeStatus, error: { code, message, hint } },
    unfinished: true,
    seen: row.lastUserMessage,
  };
}
