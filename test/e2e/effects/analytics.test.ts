import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { version } from '../../../src/observe/version.ts';
import { call } from '../../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { type RecordingServer, startRecordingServer } from '../../support/recording-server.ts';

describe('analytics', () => {
  let model: ModelServer;
  let destination: RecordingServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer(() => call('finish', { message: 'secret words of the agent' }));
    destination = await startRecordingServer({ body: {} });
    parley = await startParley();
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      email: 'ann@example.org',
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
    await destination.close();
  });

  const run = async (id: string, consent: boolean | null): Promise<void> => {
    await parley.ok('PATCH', '/api/settings', { user_consents_to_analytics: consent });
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'secret words' });
    await parley.until(id, ({ agent_state }) => agent_state === 'finished');
  };
  /** What the service sent until it ended: then nothing is under way any more. */
  const restart = async (env: Record<string, string>): Promise<void> => {
    assert.equal(await parley.stop(), 0);
    await parley.start({ env });
  };

  it('is sent only with consent and a destination', async () => {
    await run('consent-alone', true);
    await restart({ PARLEY_ANALYTICS_URL: `${destination.url}/runs` });
    await run('destination-alone', null);
    await run('refused', false);
    await run('both', true);
    await destination.request(0);
    await run('withdrawn', false);
    assert.equal(await parley.stop(), 0);
    assert.equal(destination.requests.length, 1, 'and nothing else, until the service ended');
  });

  it('is what the docs show, and no more', () => {
    const [request] = destination.requests;
    assert.ok(request);
    const { method, path, headers, body } = request;
    assert.deepEqual([method, path], ['POST', '/runs']);
    assert.deepEqual(JSON.parse(body), {
      event: 'run_ended',
      version,
      agent: 'CodeActAgent',
      outcome: 'finished',
    });
    const sent = Object.keys(headers).filter(
      (name) => !['host', 'connection', 'content-length'].includes(name),
    );
    assert.deepEqual(sent.toSorted(), [
      'accept',
      'accept-encoding',
      'accept-language',
      'content-type',
      'sec-fetch-mode',
      'user-agent',
    ]);
    const docs = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8');
    const [, shown = ''] = /^(\{"event".*\})$/m.exec(docs) ?? [];
    assert.deepEqual(Object.keys(JSON.parse(shown) as object), Object.keys(JSON.parse(body) as object));
  });
});
