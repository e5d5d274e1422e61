import type { AgentContext } from '../agent/context.ts';
import type { ConversationRequest } from '../conversations/request.ts';
import { ServiceError } from '../errors.ts';
import type { RunModel } from '../model/run-model.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { RunJournal } from './journal.ts';
import { namerOf } from './naming.ts';
import { knowledgeAt, openSandbox, type Stand, type StretchOptions } from './stand.ts';

/** The model of the settings; null for none, with the problem where they are of no use. */
export async function modelOf(
  { resolveModel }: StretchOptions,
  settings: RunSettings,
): Promise<{ model: RunModel | null; problem: string | null }> {
  try {
    return { model: settings.model ? await resolveModel(settings.model) : null, problem: null };
  } catch (error) {
    if (error instanceof ServiceError) return { model: null, problem: error.message };
    throw error;
  }
}

/** What an agent is given, but for what only a run of its has. */
export function contextOf(
  options: StretchOptions,
  stand: Stand,
  journal: RunJournal,
  model: RunModel | null,
): AgentContext {
  const { row, settings, request, workplace, signal } = stand;
  const { redact } = stand.redactor;
  const rename = namerOf(options, stand, request);
  return {
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
      options.notify(row.key, {
        status_update: true,
        ...status,
        message: redact(status.message),
        ...(status.reason !== undefined && { reason: redact(status.reason) }),
      }),
    timeouts: options.timeouts,
    signal,
  };
}

/** The issue that a conversation was started from. */
function issueOf({ suggested_task: task }: ConversationRequest): Pick<AgentContext, 'issue'> {
  if (task?.task_type !== 'OPEN_ISSUE') return {};
  return { issue: { number: task.issue_number, title: task.title } };
}
