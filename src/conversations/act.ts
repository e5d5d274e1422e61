import type { Principal } from '../auth/principal.ts';
import type { ClientAction } from '../contract/events.ts';
import { userCommand } from '../events/build.ts';
import type { ConversationService } from './service.ts';

/** Does what a client adds to the log, however it came. */
export async function act(
  service: Pick<ConversationService, 'message' | 'changeAgentState' | 'run' | 'runTool'>,
  principal: Principal,
  id: string,
  { action, args }: ClientAction,
): Promise<void> {
  if (action === 'run') {
    await service.run(principal, id, userCommand({ command: args.command, hidden: args.hidden ?? false }));
  } else if (action === 'message') {
    await service.message(principal, id, {
      content: args.content,
      imageUrls: args.image_urls ?? [],
      fileUrls: args.file_urls ?? null,
    });
  } else if (action !== 'change_agent_state') {
    await service.runTool(principal, id, action, args);
  } else {
    await service.changeAgentState(principal, id, args.agent_state, args.thought ?? '');
  }
}
