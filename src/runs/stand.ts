import type { AuditStore } from '../audit/audit.ts';
import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import { RESERVED_TOOLS } from '../agent/tools/toolbox.ts';
import type { Conversation } from '../conversations/store.ts';
import type { ConversationStores } from '../conversations/ports.ts';
import { ownServers } from '../conversations/own-servers.ts';
import type { ConversationRequest } from '../conversations/request.ts';
import { errorObservation } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import type { StatusUpdate } from '../live/status.ts';
import { readMicroagents, type RepositoryKnowledge } from '../microagents/read.ts';
import type { ConversationServers } from '../mcp/conversation-servers.ts';
import { namedServers } from '../mcp/server.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { RunFacts } from '../observe/analytics.ts';
import type { RunModel } from '../model/run-model.ts';
import type { Sandbox, SandboxLimits } from '../sandbox/sandbox.ts';
import type { WebSearch } from '../search/web-search.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { Transact } from '../transact.ts';
import { RunJournal } from './journal.ts';
import type { McpServers } from './mcp-servers.ts';
import type { Sandboxes } from './sandboxes.ts';
import { type AskAt, sandboxWish, type Workplace } from './workplace.ts';
import { Workspaces } from './workspaces.ts';

export interface StretchOptions {
  read: ConversationStores;
  transact: Transact<ConversationStores & { audit: AuditStore }>;
  vault: Vault;
  sandboxes: Sandboxes;
  limits: SandboxLimits;
  snapshot: (userId: string) => Promise<RunSettings>;
  resolveModel: (settings: ModelSettings) => Promise<RunModel>;
  /** The web search of who has a key for it; none when not given. */
  search?: (key: Secret) => WebSearch;
  /** The port to a git provider; null for one that can't be asked. */
  gitProvider: AskAt;
  /** Repositories that are read with the token beside the conversation's own: see `GitFront`. */
  submodules: readonly string[];
  runAgent: (context: AgentContext) => Promise<AgentOutcome>;
  /** Carries out what the user has asked for while the agent rests; false when the signal ended it. */
  serveUser: (context: AgentContext) => Promise<boolean>;
  /** How the agent would introduce itself; null when the log has it already, or where it says nothing of itself. */
  introductionOf: (context: AgentContext) => Promise<NewEvent | null>;
  /** Told how each run ends; nobody when not given. */
  ran?: (userId: string, facts: RunFacts) => void;
  redactor: (settings: RunSettings, own: readonly Secret[]) => TextRedactor;
  mcp: Pick<McpServers, 'begin'>;
  notify: (conversation: number, status: StatusUpdate) => void;
  timeouts: NonNullable<AgentContext['timeouts']>;
}

/** What one stretch holds: the row as it was claimed, and the settings as they were then. */
export interface Stand {
  row: Conversation;
  settings: RunSettings;
  request: ConversationRequest;
  redactor: TextRedactor;
  workplace: Workplace | null;
  signal: AbortSignal;
}

export function journalOf({ read, transact }: StretchOptions, { row, redactor }: Stand): RunJournal {
  return new RunJournal({ conversation: row.key, generation: row.generation, read, transact, redactor });
}

/** The sandbox the agent works in. @throws ServiceError sandbox_unavailable */
export function openSandbox(options: StretchOptions, stand: Stand): Promise<Sandbox> {
  const { row, settings, workplace, signal } = stand;
  return options.sandboxes.open(row.key, sandboxWish(settings, workplace, options.limits), signal);
}

/** As {@link openSandbox}, with a workspace that can be written to, whatever agent works in it later. */
export function openToPrepare(options: StretchOptions, stand: Stand): Promise<Sandbox> {
  const { row, settings, workplace, signal } = stand;
  const wish = { ...sandboxWish(settings, workplace, options.limits), readOnlyWorkspace: false };
  return options.sandboxes.open(row.key, wish, signal);
}

/** What the repository tells agents, as it stands in the workspace now: read without a sandbox. */
export async function knowledgeAt(
  { sandboxes, limits }: StretchOptions,
  { row, workplace }: Stand,
): Promise<RepositoryKnowledge> {
  const workspaces = new Workspaces(sandboxes, limits);
  const root = workspaces.rootOf(row.key);
  const files = await workspaces.files(row.key);
  return await readMicroagents(files, workplace ? `${root}/${workplace.directory}` : root);
}

/** The MCP servers of the run, its user's and its own, connected as far as they can be; null without any. */
export async function mcpOf(
  options: StretchOptions,
  stand: Stand,
  journal: RunJournal,
): Promise<ConversationServers | null> {
  const { row, settings, request, redactor, signal } = stand;
  // Only one agent has their tools: for the others no program is started and nobody is called.
  const servers =
    settings.agent === 'CodeActAgent' ? namedServers(settings.mcpServers, ownServers(request)) : [];
  const begun = await options.mcp.begin(row.key, {
    servers,
    reserved: RESERVED_TOOLS,
    sandbox: () => openSandbox(options, stand),
    redact: redactor.redact,
    signal,
  });
  const failures = (begun?.failures ?? []).map((said) => errorObservation(said, 'STATUS$MCP_SERVER'));
  if (failures.length > 0) await journal.append(failures);
  return begun?.servers ?? null;
}
