import type { ConversationView } from '../../src/contract/conversations.ts';
import type { ActedUpon } from '../../src/conversations/act.ts';
import { conversationNotFound, type ConversationService } from '../../src/conversations/service.ts';
import type { NewEvent } from '../../src/events/event.ts';
import type { StoredEvent } from '../../src/events/log.ts';
import { Subscriptions } from '../../src/live/subscriptions.ts';
import { userMessage } from '../../src/events/build.ts';

/** One conversation in memory, called `one`: its log, who watches it, and as much of the service as sockets need. */
export class MemoryConversation {
  readonly stored: StoredEvent[] = [];
  status: ConversationView['status'] = 'RUNNING';
  queued = false;
  started = 0;
  readonly asked: string[] = [];
  readonly subscriptions = new Subscriptions((_, { from, limit, maxBytes }) => {
    const page: StoredEvent[] = [];
    let bytes = 0;
    for (const event of this.stored.slice(from, from + limit)) {
      bytes += event.json.length;
      if (page.length > 0 && bytes > maxBytes) break;
      page.push(event);
    }
    return Promise.resolve(page);
  });

  /** As a commit does it: first stored, then told. */
  append(...events: NewEvent[]): void {
    const added = events.map((event, n) => {
      const id = this.stored.length + n;
      return { id, json: JSON.stringify({ id, timestamp: '2026-01-01T00:00:00.000000', ...event }) };
    });
    this.stored.push(...added);
    this.subscriptions.publish(1, added);
  }

  readonly service: ActedUpon & Pick<ConversationService, 'keyOf' | 'get' | 'events' | 'start'> = {
    keyOf: (_, id) => (id === 'one' ? Promise.resolve(1) : Promise.reject(conversationNotFound(id))),
    get: () => Promise.resolve({ status: this.status, queued: this.queued } as ConversationView),
    events: (_, _id, { from, to = Number.POSITIVE_INFINITY, limit, reverse }) => {
      const all = this.stored.filter(({ id }) => id >= from && id <= to);
      return Promise.resolve((reverse ? all.toReversed() : all).slice(0, limit));
    },
    start: () => {
      this.started += 1;
      return Promise.resolve({ conversation_id: 'one', conversation_status: 'STARTING' });
    },
    message: (_, _id, { content }) => {
      this.asked.push(content);
      this.append(userMessage(content));
      return Promise.resolve();
    },
    run: (_, _id, action) => {
      this.asked.push(action.message);
      return Promise.resolve();
    },
    runTool: (_, _id, name) => {
      this.asked.push(name);
      return Promise.resolve();
    },
    keep: (_, _id, action) => {
      this.asked.push(`kept ${'action' in action ? action.action : ''}`);
      return Promise.resolve();
    },
    end: (_, _id, state) => {
      this.asked.push(state);
      return Promise.resolve();
    },
    changeAgentState: (_, _id, state) => {
      this.asked.push(state);
      return Promise.resolve();
    },
  };
}
