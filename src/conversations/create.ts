import { randomUUID } from 'node:crypto';
import type { ConversationBody, ConversationStatus } from '../contract/conversations.ts';
import { stateChanged } from '../events/build.ts';
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
      const message = repetition || body.replay_json ? null : opening(id, body).message;
      if (message) return await say(ports, { conversations, events }, known, message, redact);
      return await wake({ conversations, events }, known);
    }
    await admitToLine(conversations, { userId, wanted: false, driver: null });
    const { title, message } = opening(id, body);
    const { repository, provider, branch, trigger } = workplace(body);
    // The message follows once the agent is there and has introduced itself: it stands in the request until then.
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
        unfinished: message !== null || Boolean(body.replay_json),
        request: vault.seal(request, requestBinding(userId, id)),
      },
      [stateChanged('loading')],
    );
    if (idempotencyKey !== undefined && !body.conversation_id) {
      await conversations.saveIdempotent(userId, idempotencyKey, id, now.toISOString());
    }
    return { key, id, status: 'STARTING' as ConversationStatus, wanted: true };
  });
  if (created.wanted) ports.drivers.offer({ key: created.key, userId });
  return { conversation_id: created.id, conversation_status: created.status };
}
