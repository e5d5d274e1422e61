import { randomUUID } from 'node:crypto';
import type { ConversationBody, ConversationStatus } from '../contract/conversations.ts';
import type { NewEvent } from '../events/event.ts';
import { redactEvent } from '../events/redact.ts';
import type { ConversationPorts } from './ports.ts';
import { secretsOf } from '../mcp/server.ts';
import { ownServers } from './own-servers.ts';
import { canonicalRequest, requestBinding, workplace } from './request.ts';
import { admitToLine, say, wake } from './waking.ts';

/** Milliseconds an `Idempotency-Key` is kept. */
const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

export interface ConversationReply {
  conversation_id: string;
  conversation_status: ConversationStatus;
}

/**
 * Creates a conversation, or joins the one that has the id: an equal request appends nothing, another one appends
 * its message; either starts it when it is stopped. Durable when it resolves; the start is not awaited.
 * @throws ServiceError queue_full, disk_almost_full
 */
export async function createOrJoin(
  ports: ConversationPorts,
  userId: string,
  body: ConversationBody,
  idempotencyKey?: string,
): Promise<ConversationReply> {
  const { vault, transact, opening } = ports;
  await ports.admitWork();
  const redact = await ports.redactor(userId, secretsOf(ownServers(body)));
  const request = canonicalRequest(body);
  const now = new Date();
  const created = await transact(async ({ conversations, events }) => {
    const repeated =
      idempotencyKey === undefined || body.conversation_id
        ? undefined
        : await conversations.idempotent(
            userId,
            idempotencyKey,
            new Date(now.getTime() - IDEMPOTENCY_MS).toISOString(),
          );
    const named = body.conversation_id || repeated;
    const id = named || randomUUID().replaceAll('-', '');
    const known = named ? await conversations.find(userId, named) : undefined;
    if (known) {
      const stored = vault.open(await conversations.request(known.key), requestBinding(userId, id));
      const repetition = stored.unwrap() === request.unwrap();
      // A recording is replayed by a conversation of its own, or not at all.
      const message = repetition || body.replay_json ? undefined : firstMessage(opening(id, body).events);
      if (message) return await say({ conversations, events }, known, redactEvent(message, redact));
      return await wake({ conversations, events }, known);
    }
    await admitToLine(conversations, { userId, wanted: false, driver: null });
    const { title, events: first } = opening(id, body);
    const { repository, provider, branch, trigger } = workplace(body);
    const key = await conversations.insert(
      {
        id,
        userId,
        title: redact(title),
        trigger,
        selectedRepository: repository,
        selectedBranch: branch,
        gitProvider: provider,
        createdAt: now.toISOString(),
        unfinished: firstMessage(first) !== undefined || Boolean(body.replay_json),
        request: vault.seal(request, requestBinding(userId, id)),
      },
      first.map((event) => redactEvent(event, redact)),
    );
    if (idempotencyKey !== undefined && !body.conversation_id) {
      await conversations.saveIdempotent(userId, idempotencyKey, id, now.toISOString());
    }
    return { key, id, status: 'STARTING' as ConversationStatus, wanted: true };
  });
  if (created.wanted) ports.drivers.offer({ key: created.key, userId });
  return { conversation_id: created.id, conversation_status: created.status };
}

function firstMessage(events: readonly NewEvent[]): NewEvent | undefined {
  return events.find((event) => 'action' in event && event.action === 'message' && event.source === 'user');
}
