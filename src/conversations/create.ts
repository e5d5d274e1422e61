import { randomUUID } from 'node:crypto';
import type { ConversationBody, ConversationStatus } from '../contract/conversations.ts';
import { stateChanged } from '../events/build.ts';
import type { ConversationPorts, ConversationStores } from './ports.ts';
import { secretsOf } from '../mcp/server.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { IdempotencyStore } from './idempotency.ts';
import { ownServers } from './own-servers.ts';
import { canonicalRequest, requestBinding, requestIfThere, selectionOf, storedRequest } from './request.ts';
import type { Conversation } from './store.ts';
import { admitToLine, say, type Touched, wake, type Words, wordsOf } from './waking.ts';

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
  await ports.admitWork();
  const asked: Asked = {
    userId,
    body,
    request: canonicalRequest(body),
    idempotencyKey: body.conversation_id ? undefined : idempotencyKey,
    own: secretsOf(ownServers(body)),
    now: new Date(),
  };
  const redactor = await ports.redactor(userId, asked.own);
  for (;;) {
    const named = await idOf(ports.read.idempotency, asked);
    const known = named === undefined ? undefined : await ports.read.conversations.find(userId, named);
    // A long message takes a while, and a transaction has none.
    const words = known ? await wordsToJoin(ports, known, asked) : null;
    const touched = await ports.transact(async (stores) => {
      const { conversations } = stores;
      const still = await idOf(stores.idempotency, asked);
      const row = still === undefined ? undefined : await conversations.find(userId, still);
      // Somebody has made or removed it meanwhile: looked at anew.
      if (row?.key !== known?.key) return null;
      const id = still ?? idOfNow(asked.now);
      if (!row) return await create(ports, stores, asked, id, redactor);
      return words ? await say(stores, row, words) : await wake(stores, row);
    });
    if (!touched) continue;
    if (touched.wanted) ports.drivers.offer({ key: touched.key, userId });
    return { conversation_id: touched.id, conversation_status: touched.status };
  }
}

/** One creation request. */
interface Asked {
  userId: string;
  body: ConversationBody;
  /** The canonical form of `body`. */
  request: Secret;
  /** Undefined when the body names an id, which goes before. */
  idempotencyKey: string | undefined;
  /** Secrets that it brings along. */
  own: readonly Secret[];
  now: Date;
}

/** The id that the request names, or that its `Idempotency-Key` has got; undefined for a new one. */
async function idOf(
  idempotency: IdempotencyStore,
  { userId, body, idempotencyKey, now }: Asked,
): Promise<string | undefined> {
  if (body.conversation_id) return body.conversation_id;
  if (idempotencyKey === undefined) return undefined;
  const after = new Date(now.getTime() - IDEMPOTENCY_MS).toISOString();
  return await idempotency.find(userId, idempotencyKey, after);
}

/**
 * A UUID of 74 random bits that ends in the time, as the index of them has it. It begins at random: titles and branches are
 * named by that.
 */
function idOfNow(now: Date): string {
  const random = randomUUID().replaceAll('-', '');
  const time = now.getTime().toString(16).padStart(12, '0');
  // Version 8: of a layout of one's own.
  return `${random.slice(0, 12)}8${random.slice(13, 20)}${time}`;
}

/** What a request says in a conversation that is there; null when it is the one that made it, or says nothing. */
async function wordsToJoin(
  ports: ConversationPorts,
  row: Conversation,
  { body, request, own }: Asked,
): Promise<Words | null> {
  // A recording is replayed by a conversation of its own, or not at all.
  const message = body.replay_json ? null : ports.opening(row.id, body).message;
  if (!message) return null;
  const made = await requestIfThere(ports, row);
  if (made === null || made.unwrap() === request.unwrap()) return null;
  const theirs = secretsOf(ownServers(storedRequest(made)));
  return await wordsOf(ports, row, message, await ports.redactor(row.userId, [...own, ...theirs]));
}

async function create(
  { vault, opening }: ConversationPorts,
  {
    conversations,
    idempotency,
  }: Pick<ConversationStores, 'conversations'> & { idempotency: IdempotencyStore },
  { userId, body, request, idempotencyKey, now }: Asked,
  id: string,
  { redact }: TextRedactor,
): Promise<Touched> {
  await admitToLine(conversations, { userId, wanted: false, driver: null });
  const { title, message } = opening(id, body);
  // The message follows once the agent is there and has introduced itself: it stands in the request until then.
  const key = await conversations.insert(
    {
      id,
      userId,
      title: redact(title),
      ...selectionOf(body),
      createdAt: now.toISOString(),
      unfinished: message !== null || Boolean(body.replay_json),
      request: vault.seal(request, requestBinding(userId, id)),
    },
    [stateChanged('loading')],
  );
  if (idempotencyKey !== undefined) {
    await idempotency.save(userId, idempotencyKey, id, now.toISOString());
  }
  return { key, id, status: 'STARTING', wanted: true };
}
