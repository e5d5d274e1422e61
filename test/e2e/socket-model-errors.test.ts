import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { io, type Socket } from 'socket.io-client';
import { say, status } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley, TEST_KEY } from '../support/parley.ts';

interface Sent {
  id?: number | string;
  status_update?: true;
  conversation_title?: string;
  observation?: string;
  extras?: { agent_state?: string; reason?: string };
}

describe('what a socket is told of a model that fails', () => {
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    const refusals = new Map<string, number>();
    model = await startModelServer(({ body }) => {
      const said = JSON.stringify(body.messages);
      if (said.includes('no key')) return status(401);
      const refused = refusals.get('busy') ?? 0;
      refusals.set('busy', refused + 1);
      return refused < 2 ? status(429, { 'retry-after-ms': '1' }) : say('Here I am.');
    });
    parley = await startParley({ PARLEY_SANDBOX: 'none' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  /** Says something in a conversation of its own, and gives the statuses and states it hears until one of these. */
  async function hears(content: string, ends: readonly string[]): Promise<unknown[]> {
    const conversation_id = content.replaceAll(' ', '-');
    await parley.ok('POST', '/api/conversations', { conversation_id });
    await parley.until(conversation_id, ({ agent_state }) => agent_state === 'awaiting_user_input');
    const socket: Socket = io(parley.url, {
      transports: ['websocket'],
      forceNew: true,
      query: { latest_event_id: -1, conversation_id, session_api_key: TEST_KEY },
    });
    const heard: unknown[] = [];
    let asked = false;
    try {
      await new Promise<void>((resolve, reject) => {
        socket.on('connect_error', reject);
        socket.on('oh_event', (sent: Sent) => {
          const state = sent.observation === 'agent_state_changed' ? sent.extras : undefined;
          if (!asked && state?.agent_state === 'awaiting_user_input') {
            asked = true;
            socket.emit('oh_user_action', { action: 'message', args: { content, image_urls: [] } });
          } else if (asked) {
            if (state) heard.push([state.agent_state, state.reason]);
            if (sent.status_update && sent.conversation_title === undefined) heard.push(sent);
            if (state?.agent_state !== undefined && ends.includes(state.agent_state)) resolve();
          }
        });
      });
    } finally {
      socket.disconnect();
    }
    return heard;
  }

  it('is each time that it is tried again, in the words of V0, and then the answer', async () => {
    const [running, ...rest] = await hears('busy', ['awaiting_user_input']);
    assert.deepEqual(running, ['running', '']);
    const retry = (n: number): object => ({
      status_update: true,
      type: 'info',
      id: 'STATUS$LLM_RETRY',
      message: `Retrying LLM request, ${n} / 5`,
      reason: 'The provider of the model allows no more calls for now. scripted 429',
    });
    assert.deepEqual(rest, [retry(1), retry(2), ['awaiting_user_input', '']]);
  });

  it('is that its key is refused, as a status and as the state of the agent', async () => {
    const id = 'STATUS$ERROR_LLM_AUTHENTICATION';
    assert.deepEqual(await hears('no key', ['error']), [
      ['running', ''],
      { status_update: true, type: 'error', id, message: id },
      ['error', id],
    ]);
    const view = await parley.until('no-key', ({ agent_state }) => agent_state === 'error');
    assert.deepEqual(
      [view.status, view.runtime_status, view.error?.code],
      ['RUNNING', id, 'model_authentication'],
    );
  });
});
