import type { Principal } from '../auth/principal.ts';
import { type ClientAction, type EndingAction, isInertAction } from '../contract/events.ts';
import { inertAction, userCommand } from '../events/build.ts';
import type { ConversationService } from './service.ts';

/** What a client's actions ask of the service. */
export type ActedUpon = Pick<
  ConversationService,
  'message' | 'changeAgentState' | 'run' | 'runTool' | 'keep' | 'end'
>;

/** The state in which V0 leaves the agent after it. */
const ENDS = { finish: 'finished', reject: 'rejected' } as const satisfies Record<EndingAction, string>;

/** Does what a client adds to the log, however it came. */
export async function act(
  service: ActedUpon,
  principal: Principal,
  id: string,
  { action, args }: ClientAction,
): Promise<void> {
  if (isInertAction(action)) return await service.keep(principal, id, inertAction(action, args));
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
    case 'finish':
    case 'reject':
      return await service.end(principal, id, ENDS[action], inertAction(action, args));
    default:
      return await service.runTool(principal, id, action, args);
  }
}
