import { errorObservation } from '../../events/build.ts';
import type { NewEvent } from '../../events/event.ts';
import type { WebSearch } from '../../search/web-search.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { AgentContext } from '../context.ts';
import type { EditMemory } from './edit-memory.ts';
import type { HostedRepository, ProviderWrite } from './provider/hosted.ts';
import type { TaskMemory } from './task-memory.ts';

/** What actions are carried out with. */
export interface Bench {
  /** @throws ServiceError sandbox_unavailable */
  sandbox(): Promise<Sandbox>;
  signal: AbortSignal;
  edits: EditMemory;
  tasks: TaskMemory;
  /** Not given where the user has no key for it. */
  search?: WebSearch;
  /** Not given without MCP servers. */
  mcp?: NonNullable<AgentContext['mcp']>;
  /** Not given without a repository at a provider that can be asked. */
  hosted?: HostedRepository;
  /** Told of each write to the provider, which is noted together with what came of the action. */
  wrote(write: ProviderWrite): void;
}

/** What came of an action, without its `cause`. */
export type Result = NewEvent;

/** What went wrong, as a sentence for the model. */
export function wrong(problem: string): Result {
  return errorObservation(problem, '');
}
