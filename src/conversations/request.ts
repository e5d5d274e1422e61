import { type ConversationBody, conversationBody } from '../contract/conversations.ts';
import { ConversationGone } from '../events/log.ts';
import { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Conversation, ConversationStore, NewConversation } from './store.ts';

/** Where stored requests are, and what opens them. */
interface RequestPorts {
  read: { conversations: Pick<ConversationStore, 'request'> };
  vault: Vault;
}

/** A creation request with what is not given left out, so that two spellings of the same request are equal. */
export type ConversationRequest = Omit<ConversationBody, 'conversation_id'>;

/** What a request is stored and compared as: JSON with sorted members, secrets in clear. It is sealed before it is stored. */
export function canonicalRequest(body: ConversationBody): Secret {
  const { conversation_id: _, ...request } = body;
  const given = Object.entries(request).filter(([, value]) => value !== '');
  return new Secret(JSON.stringify(canonical(Object.fromEntries(given))));
}

/** The request as it was validated when it came. */
export function storedRequest(text: Secret): ConversationRequest {
  return conversationBody.parse(JSON.parse(text.unwrap()));
}

/**
 * null and [] mean "not given", as an empty secret does. Other empty texts mean it only where they are members of the
 * request itself: further in, one may be a title, or an argument.
 */
function canonical(value: unknown): unknown {
  if (value instanceof Secret) return value.unwrap() === '' ? undefined : value.unwrap();
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : value.map((entry) => canonical(entry) ?? null);
  }
  if (typeof value !== 'object') return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, canonical(member)] as const)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members);
}

/** What a conversation works on, as its row has it: the repository that was asked for, else that of its task. */
export function selectionOf(
  request: ConversationRequest,
): Pick<NewConversation, 'selectedRepository' | 'selectedBranch' | 'gitProvider' | 'trigger'> {
  const { suggested_task: task, create_microagent: microagent } = request;
  return {
    selectedRepository: request.repository || (task?.repo ?? microagent?.repo ?? null),
    gitProvider: request.git_provider || (task?.git_provider ?? (microagent?.git_provider || null)),
    selectedBranch: request.selected_branch || null,
    trigger: task ? 'suggested_task' : microagent ? 'microagent_management' : 'gui',
  };
}

/** What a stored request is bound to. */
export function requestBinding(userId: string, id: string): readonly [string, string, string, string] {
  return ['conversations', userId, 'request', id];
}

/** The request that a conversation was made by. @throws ConversationGone */
export async function requestOf(
  { read, vault }: RequestPorts,
  { key, id, userId }: Pick<Conversation, 'key' | 'id' | 'userId'>,
): Promise<Secret> {
  return vault.open(await read.conversations.request(key), requestBinding(userId, id));
}

/** As {@link requestOf}; null when it is gone, which whoever asks is about to find out. */
export async function requestIfThere(ports: RequestPorts, row: Conversation): Promise<Secret | null> {
  try {
    return await requestOf(ports, row);
  } catch (error) {
    if (error instanceof ConversationGone) return null;
    throw error;
  }
}
