import { setTimeout as sleep } from 'node:timers/promises';
import { TEST_KEY } from '../../test/support/parley.ts';
import type { Neighbour } from './neighbour.ts';

/** One conversation is driven at a time. */
export const ONE_PLACE = { PARLEY_MAX_RUNNING: '1,1' };

/** Has a conversation run that never ends, as its model never answers: those after it are stored, and wait. */
export async function occupy(url: string, model: Neighbour): Promise<void> {
  const send = async (path: string, body?: unknown): Promise<unknown> => {
    const reply = await fetch(`${url}${path}`, {
      headers: {
        'X-Session-API-Key': TEST_KEY,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`);
    return await reply.json();
  };
  await send('/api/settings', {
    llm_model: 'openai/silent',
    llm_base_url: `${model.url}/v1`,
    llm_api_key: 'any-key-at-all',
  });
  await send('/api/conversations', { conversation_id: 'first', initial_user_msg: 'Hello.' });
  for (;;) {
    const seen = JSON.stringify(await send('/api/conversations/first'));
    if (seen.includes('"running"')) return;
    if (seen.includes('"ERROR"')) throw new Error(`the conversation that occupies the place failed: ${seen}`);
    await sleep(50);
  }
}
