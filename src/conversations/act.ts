import type { Principal } from '../auth/principal.ts';
import type { ClientAction } from '../contract/events.ts';
import { inertAction, userCommand } from '../events/build.ts';
import type { ConversationService } from './service.ts';

/** Does what a client adds to the log, however it came. */
export async function act(
  service: Pick<ConversationService, 'message' | 'changeAgentState' | 'run' | 'runTool' | 'keep' | 'end'>,
  principal: Principal,
  id: string,
  { action, args }: ClientAction,
): Promise<void> {
  switch (action) {
    case 'run':
      return await service.run(
        principal,
        id,
        userCommand({ command: args.command, hidden: args.hidden ?? false }),
      );
    case 'message':
      return await service.message(principal, id, {
        content: args.content,
        imageUrls: args.image_urls ?? [],
        fileUrls: args.file_urls ?? null,
      });
    case 'change_agent_state':
      return await service.changeAgentState(principal, id, args.agent_state, args.thought ?? '');
    case 'system':
    case 'recall':
    case 'condensation':
    case 'null':
      return await service.keep(principal, id, inertAction(action, args));
    case 'finish':
    case 'reject':
      return await service.end(principal, id, ENDS[action], inertAction(action, args));
    default:
      return await service.runTool(principal, id, action, args);
  }
}

/** The state in which V0 leaves the agent after it. */
const ENDS = { finish: 'finished', reject: 'rejected' } as const;
