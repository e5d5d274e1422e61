import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import type { Conversation } from '../conversations/store.ts';
import type { ConversationStores } from '../conversations/ports.ts';
import { requestBinding, storedRequest } from '../conversations/request.ts';
import { ServiceError } from '../errors.ts';
import { action, errorObservation, stateChanged } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { redactEvent } from '../events/redact.ts';
import type { StatusUpdate } from '../live/subscriptions.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { RunModel } from '../model/run-model.ts';
import type { SandboxLimits } from '../sandbox/sandbox.ts';
import type { Vault } from '../secrets/vault.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { Transact } from '../transact.ts';
import { type CloneFailure, cloneRepository } from './clone.ts';
import type { End, Stretch } from './driver.ts';
import { RunJournal } from './journal.ts';
import { patient } from './patient.ts';
import type { Sandboxes } from './sandboxes.ts';
import { sandboxWish, type Workplace, workplaceOf } from './workplace.ts';

export interface StretchOptions {
  read: ConversationStores;
  transact: Transact<ConversationStores>;
  vault: Vault;
  sandboxes: Sandboxes;
  limits: SandboxLimits;
  snapshot: (userId: string) => Promise<RunSettings>;
  resolveModel: (settings: ModelSettings) => RunModel;
  runAgent: (context: AgentContext) => Promise<AgentOutcome>;
  redactor: (settings: RunSettings) => (text: string) => string;
  notify: (conversation: number, status: StatusUpdate) => void;
}

/** What one stretch holds: the row as it was claimed, and the settings as they were then. */
interface Stand {
  row: Conversation;
  settings: RunSettings;
  redact: (text: string) => string;
  workplace: Workplace | null;
  signal: AbortSignal;
}

/**
 * One stretch of driving: makes the workspace when it is not made yet, then lets the agent work until it waits, ends
 * or fails. What a start needs and what the agent does are told apart by the row: `prepared`, `unfinished`.
 */
export function stretchWith(given: StretchOptions): Stretch {
  return async (row, signal) => {
    const options = { ...given, transact: patient(given.transact, signal) };
    const settings = await options.snapshot(row.userId);
    const stand: Stand = {
      row,
      settings,
      redact: options.redactor(settings),
      workplace: workplaceOf(row, settings),
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

/** Makes what the conversation works on, each phase visible. Null when it is ready. */
async function prepare(options: StretchOptions, stand: Stand): Promise<CloneFailure | null> {
  const { row, workplace, signal } = stand;
  const phase = phaseTeller(options, row);
  if (row.selectedRepository !== null && !row.prepared) {
    if (!workplace) return noRepositories(row);
    try {
      await phase('STATUS$STARTING_RUNTIME', 'Starting the sandbox');
      const sandbox = await openSandbox(options, stand);
      await phase('STATUS$SETTING_UP_WORKSPACE', `Cloning ${workplace.name}`);
      const cloned = await cloneRepository(sandbox, {
        url: workplace.url,
        repository: workplace.name,
        directory: workplace.directory,
        branch: workplace.branch,
        signal,
      });
      signal.throwIfAborted();
      if (!cloned.ok) return cloned;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'sandbox_unavailable') return noSandbox(error);
      throw error;
    }
  }
  await options.transact(({ conversations }) =>
    conversations.change(
      row.key,
      {
        status: 'RUNNING',
        runtimeStatus: 'STATUS$READY',
        error: null,
        prepared: true,
        ...(workplace && { selectedBranch: workplace.branch.name }),
      },
      row.generation,
    ),
  );
  // What follows in this stretch reads the row: from here on the start is behind it.
  row.status = 'RUNNING';
  options.notify(row.key, { status_update: true, type: 'info', id: 'STATUS$READY', message: '' });
  return null;
}

async function work(options: StretchOptions, stand: Stand): Promise<End> {
  const { row, settings, redact, workplace, signal } = stand;
  let model: RunModel;
  try {
    if (!settings.model && settings.agent !== 'DummyAgent') return noModel(row, null);
    model = settings.model ? options.resolveModel(settings.model) : noModelNeeded();
  } catch (error) {
    if (error instanceof ServiceError) return noModel(row, error.message);
    throw error;
  }
  const journal = new RunJournal({
    conversation: row.key,
    generation: row.generation,
    read: options.read,
    transact: options.transact,
    redact,
  });
  const request = storedRequest(
    options.vault.open(await options.read.conversations.request(row.key), requestBinding(row.userId, row.id)),
  );
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
    secretDescriptions: Object.fromEntries(
      Object.entries(settings.customSecrets).map(([name, { description }]) => [name, description]),
    ),
    model,
    journal,
    iterations: row.iterations,
    spent: {
      cost: row.accumulatedCost,
      promptTokens: row.promptTokens,
      completionTokens: row.completionTokens,
    },
    budgetFrom: row.budgetFrom,
    sandbox: () => openSandbox(options, stand),
    notify: (status) =>
      options.notify(row.key, { status_update: true, ...status, message: redact(status.message) }),
    signal,
  });
  if (outcome.kind === 'aborted') signal.throwIfAborted();
  return endOf(outcome, Math.max(journal.seen, row.lastUserMessage), redact);
}

function openSandbox(options: StretchOptions, { row, settings, workplace, signal }: Stand) {
  return options.sandboxes.open(row.key, sandboxWish(settings, workplace, options.limits), signal);
}

function endOf(outcome: AgentOutcome, seen: number, redact: (text: string) => string): End {
  if (outcome.kind === 'failed') {
    const { runtimeStatus, code, message, hint } = outcome;
    return {
      events: [],
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
  const change = action('environment', 'change_agent_state', 'The agent waits for its user', {
    agent_state: state,
    thought: '',
  });
  return {
    events: row.agentState === state ? [] : [change, stateChanged(state)],
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

function noModel(row: Conversation, why: string | null): End {
  const message = why ?? 'No model is configured.';
  const hint =
    'Store llm_model and llm_api_key (POST /api/settings), then start the conversation again or send a message.';
  return {
    events: [
      errorObservation(`${message} ${hint}`, 'STATUS$ERROR_LLM_AUTHENTICATION'),
      stateChanged('error', `${message} ${hint}`),
    ],
    change: {
      runtimeStatus: 'STATUS$ERROR_LLM_AUTHENTICATION',
      error: { code: 'model_not_configured', message, hint },
    },
    unfinished: true,
    seen: row.lastUserMessage,
  };
}

/** `DummyAgent` asks no model; one that is asked all the same is a fault of ours. */
function noModelNeeded(): RunModel {
  return {
    name: 'none',
    key: null,
    fetch: () => Promise.reject(new Error('this agent has no model')),
    open: () => Promise.reject(new Error('this agent has no model')),
  };
}

function noSandbox(error: ServiceError): CloneFailure {
  return {
    runtimeStatus: 'STATUS$ERROR',
    error: {
      code: error.code,
      message: error.message,
      hint: 'When the sandbox is to be had, start the conversation again.',
    },
  };
}

function noRepositories(row: Conversation): CloneFailure {
  return {
    runtimeStatus: 'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR',
    error: {
      code: 'repository_not_found',
      message: `${row.gitProvider} has no repositories of its own, so ${row.selectedRepository} is nowhere to be found.`,
      hint: 'Create the conversation again with another git_provider.',
    },
  };
}

/** Tells a phase of the start: on the row, and to who watches. */
function phaseTeller(options: StretchOptions, row: Conversation) {
  return async (runtimeStatus: string, message: string): Promise<void> => {
    await options.transact(({ conversations }) =>
      conversations.change(row.key, { runtimeStatus }, row.generation),
    );
    options.notify(row.key, { status_update: true, type: 'info', id: runtimeStatus, message });
  };
}
