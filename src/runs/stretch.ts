import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import { modelMissing } from '../agent/failure.ts';
import { readRecording } from '../agent/replay/recording.ts';
import type { Conversation } from '../conversations/store.ts';
import { ownServers } from '../conversations/own-servers.ts';
import { type ConversationRequest, requestBinding, storedRequest } from '../conversations/request.ts';
import { ServiceError } from '../errors.ts';
import { errorObservation, stateAsked, stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { redactEvent } from '../events/redact.ts';
import { secretsOf } from '../mcp/server.ts';
import type { RunModel } from '../model/run-model.ts';
import type { CloneFailure } from './clone-failure.ts';
import type { End, Stretch } from './driver.ts';
import { patient } from './patient.ts';
import { namerOf } from './naming.ts';
import { prepare } from './prepare.ts';
import { journalOf, knowledgeAt, mcpOf, openSandbox, type Stand, type StretchOptions } from './stand.ts';
import { workplaceOf } from './workplace.ts';

/**
 * One stretch of driving: makes the workspace when it is not made yet, then lets the agent work until it waits, ends
 * or fails. What a start needs and what the agent does are told apart by the row: `prepared`, `unfinished`.
 */
export function stretchWith(given: StretchOptions): Stretch {
  return async (row, signal) => {
    const options = { ...given, transact: patient(given.transact, signal) };
    const settings = await options.snapshot(row.userId);
    const sealed = await options.read.conversations.request(row.key);
    const request = storedRequest(options.vault.open(sealed, requestBinding(row.userId, row.id)));
    const stand: Stand = {
      row,
      settings,
      request,
      redact: options.redactor(settings, secretsOf(ownServers(request))),
      workplace: workplaceOf(row, settings, options),
      signal,
    };
    const failed = row.status === 'STARTING' ? await prepare(options, stand) : null;
    if (failed) return failedStart(stand, failed);
    if (!row.unfinished) return waiting(row);
    const release = options.sandboxes.use(row.key);
    try {
      return await work(options, stand);
    } finally {
      release();
    }
  };
}

async function work(options: StretchOptions, stand: Stand): Promise<End> {
  const { row, settings, request, redact, workplace, signal } = stand;
  const recording = request.replay_json ? readRecording(request.replay_json) : null;
  const replay = recording?.ok ? recording.steps : [];
  let model: RunModel | null;
  try {
    model = settings.model ? await options.resolveModel(settings.model) : null;
    // What is replayed needs none; what comes after it says so itself.
    if (!model && settings.agent !== 'DummyAgent' && replay.length === 0) return noModel(row);
  } catch (error) {
    if (error instanceof ServiceError) return noModel(row, error.message);
    throw error;
  }
  const journal = journalOf(options, stand);
  const mcp = await mcpOf(options, stand, journal);
  const rename = namerOf(options, stand, request);
  const outcome = await options.runAgent({
    agent: settings.agent,
    conversationId: row.id,
    repository: workplace && {
      name: workplace.name,
      directory: workplace.directory,
      branch: workplace.branch.name,
    },
    workspaceRoot: options.sandboxes.rootOf(row.key),
    instructions: request.conversation_instructions ?? '',
    language: settings.language,
    maxIterations: settings.maxIterations,
    maxBudget: settings.maxBudget,
    condenser: settings.condenser,
    condensation: row.condensation,
    confirmationMode: settings.confirmationMode,
    securityAnalyzer: settings.securityAnalyzer,
    secretDescriptions: Object.fromEntries(
      Object.entries(settings.customSecrets).map(([name, { description }]) => [name, description]),
    ),
    knowledge: () => knowledgeAt(options, stand),
    ...(mcp && { mcp }),
    ...(workplace?.provider && {
      hosted: {
        provider: workplace.provider,
        name: workplace.name,
        branch: workplace.branch.name,
        mayWrite: workplace.hasToken,
      },
    }),
    ...(settings.solvabilityAnalysis && issueOf(request)),
    ...(settings.searchKey && options.search && { search: options.search(settings.searchKey) }),
    model,
    replay,
    journal,
    iterations: row.iterations,
    iterationsFrom: row.iterationsFrom,
    spent: {
      cost: row.accumulatedCost,
      promptTokens: row.promptTokens,
      completionTokens: row.completionTokens,
    },
    budgetFrom: row.budgetFrom,
    reserved: row.reserved,
    ...(rename && { rename }),
    sandbox: () => openSandbox(options, stand),
    notify: (status) =>
      options.notify(row.key, { status_update: true, ...status, message: redact(status.message) }),
    timeouts: options.timeouts,
    signal,
  });
  options.ran?.(row.userId, { agent: settings.agent, outcome: outcome.kind });
  if (outcome.kind === 'aborted') signal.throwIfAborted();
  return endOf(outcome, Math.max(journal.seen, row.lastUserMessage), redact);
}

/** The issue that a conversation was started from. */
function issueOf({ suggested_task: task }: ConversationRequest): Pick<AgentContext, 'issue'> {
  if (task?.task_type !== 'OPEN_ISSUE') return {};
  return { issue: { number: task.issue_number, title: task.title } };
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

/** Nothing to do but to wait for the user. */
function waiting(row: Conversation): End {
  const state = 'awaiting_user_input';
  const asked = stateAsked(state, 'The agent waits for its user');
  return {
    events: row.agentState === state || row.agentState === 'paused' ? [] : [asked, stateChanged(state)],
    change: {},
    unfinished: false,
    seen: row.lastUserMessage,
  };
}

function failedStart({ row, redact }: Stand, { runtimeStatus, error }: CloneFailure): End {
  const said = { ...error, message: redact(error.message) };
  const events: NewEvent[] = [
    errorObservation(`${said.message} ${said.hint}`, runtimeStatus),
    stateChanged('error', said.message),
  ];
  return {
    events: events.map((event) => redactEvent(event, redact)),
    change: { status: 'ERROR', runtimeStatus, error: said },
    unfinished: row.unfinished,
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
