import type { Principal } from '../auth/principal.ts';
import type { ClientAction } from '../contract/events.ts';
import type { ConversationService } from './service.ts';

/** Does what a client adds to the log, however it came. */
export async function act(
  service: Pick<ConversationService, 'message' | 'changeAgentState' | 'run'>,
  principal: Principal,
  id: string,
  { action, args }: ClientAction,
): Promise<void> {
  if (action === 'run') {
    await service.run(principal, id, { command: args.command, hidden: args.hidden ?? false });
  } else if (action === 'message') {
    await service.message(principal, id, {
      content: args.content,
      imageUrls: args.image_urls ?? [],
      fileUrls: args.file_urls ?? null,
    });
  } else {
    await service.changeAgentState(principal, id, args.agent_state, args.thought ?? '');
  }
}
