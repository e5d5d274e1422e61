import type { AGENTS, AnalyzerName } from '../contract/settings.ts';
import type { AgentState } from '../events/event.ts';
import type { ConversationServers } from '../mcp/conversation-servers.ts';
import type { RepositoryKnowledge } from '../microagents/read.ts';
import type { RunModel } from '../model/run-model.ts';
import type { WebSearch } from '../search/web-search.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Journal } from './journal.ts';
import type { HostedRepository } from './tools/provider/hosted.ts';
import type { ReplayStep } from './replay/recording.ts';

/** Everything an agent needs for one run. Settings are those at the beginning of the run. */
export interface AgentContext {
  agent: (typeof AGENTS)[number];
  conversationId: string;
  /** The repository that was cloned: its name, its folder in /workspace, and the branch that is checked out. */
  repository: { name: string; directory: string; branch: string } | null;
  /** Where the workspace is as commands see it; `/workspace` when not given. */
  workspaceRoot?: string;
  /** Told to the agent in every run. */
  instructions: string;
  /** BCP 47 tag of the language to answer in; "" for the user's own words. */
  language: string;
  maxIterations: number;
  /** US dollars; null for no limit. */
  maxBudget: number | null;
  /** Whether actions wait for their user, and who rates them; no and nobody when not given. */
  confirmationMode?: boolean;
  securityAnalyzer?: AnalyzerName | null;
  /** Custom secrets by name → description: the agent is told they are variables of its shell. */
  secretDescriptions: Readonly<Record<string, string>>;
  /** Reads what the repository has to tell agents; nothing when not given. */
  knowledge?: () => Promise<RepositoryKnowledge>;
  /** Not given where the user has no key for it. */
  search?: WebSearch;
  /** The MCP servers of the conversation, connected as far as they can be; none when not given. */
  mcp?: Pick<ConversationServers, 'tools' | 'call'>;
  /** The repository at its provider; not given where there is none that can be asked. */
  hosted?: HostedRepository;
  /** What is worked on, where an estimate of it is wanted first. */
  issue?: { number: number; title: string };
  /** Null when none is configured. */
  model: RunModel | null;
  /** What is done first, without a model; nothing when not given. */
  replay?: readonly ReplayStep[];
  journal: Journal;
  /** The id of the log's newest condensation, from which it is read; -1, and when not given, from its beginning. */
  condensation?: number;
  /** Whether the model sums up what is forgotten; no when not given. */
  condenser?: boolean;
  /** Steps taken so far. */
  iterations: number;
  /** How many had been taken when the allowance began; 0 when not given. */
  iterationsFrom?: number;
  /** What the conversation cost so far. */
  spent: { cost: number; promptTokens: number; completionTokens: number };
  /** What calls of former runs may have cost that no event tells of, in US dollars by their number. */
  reserved?: Readonly<Record<number, number>>;
  /** What the conversation had cost when the allowance began; 0 when not given. */
  budgetFrom?: number;
  /** Opens the sandbox when it is first needed, again after it was lost. @throws ServiceError sandbox_unavailable */
  sandbox(): Promise<Sandbox>;
  /** Names the conversation, unless its user did; not given where it has a name. */
  rename?: (title: string) => Promise<void>;
  /** Tells who watches; not logged. `id` is one of V0's STATUS$ names. */
  notify(status: { type: 'info' | 'error'; id: string; message: string; reason?: string }): void;
  /** How long one call of the model, and the whole run, may take. Milliseconds; the model's own default, and no limit, when not given. */
  timeouts?: { modelMs: number; runMs: number };
  /** Aborted when the run is to end at once: stopped, deleted, or the service ends. */
  signal: AbortSignal;
}

/** What an agent with a model needs. */
export type ModelContext = AgentContext & { model: RunModel };

/**
 * How a stretch of driving ended. The agent has appended the state event that says so, but for `aborted`, where whoever
 * aborted says it, and `failed`, whose state is to be written together with the error on the row: who sees the one sees
 * the other.
 */
export type AgentOutcome =
  | { kind: 'waiting' }
  | { kind: 'finished' }
  | {
      kind: 'failed';
      state: Extract<AgentState, 'error' | 'rate_limited'>;
      /** Why, for the state event: what V0's pages show. */
      reason: string;
      runtimeStatus: string;
      code: string;
      message: string;
      hint: string;
    }
  | { kind: 'aborted' };
