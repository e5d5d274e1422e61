import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { GIT_TOKEN, startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { type Parley, startParley } from '../support/parley.ts';

const ID = '4dd0d53a63d544f3a265fbf1191f09d2';

/** The calls that V0's managers of nested conversations make, in their order (v0-wire, section 0). */
describe('an orchestrator of V0', () => {
  let model: ModelServer;
  let parley: Parley;
  let forge: GitServer;

  before(async () => {
    model = await startModelServer(() => say('What next?'));
    forge = await startForge({});
    parley = await startParley({ PARLEY_SANDBOX: 'none' });
  });
  after(async () => {
    await parley.close();
    await forge[Symbol.asyncDispose]();
    await model.close();
  });

  const post = (path: string, body?: unknown) => parley.request('POST', path, body);

  for (const round of [1, 2]) {
    it(`plays its whole sequence, for the ${round}. time on the same id`, async () => {
      const settings = await post('/api/settings', {
        language: 'en',
        agent: 'CodeActAgent',
        max_iterations: 50,
        security_analyzer: null,
        confirmation_mode: false,
        llm_model: 'openai/scripted',
        llm_api_key: 'sk-a-model-key',
        llm_base_url: model.baseUrl,
        mcp_config: null,
        // Not of the settings: its model has them.
        selected_repository: null,
        replay_json: null,
        selected_branch: null,
        conversation_instructions: null,
        git_provider: null,
      });
      assert.equal(settings.status, 200);

      const providers = await post('/api/add-git-providers', {
        provider_tokens: { github: { token: GIT_TOKEN, user_id: 'u', host: forge.base } },
      });
      assert.equal(providers.status, 200, JSON.stringify(providers.body));

      const secret = await post('/api/secrets', {
        name: 'DEPLOY_KEY',
        value: 'a-secret-value',
        description: '',
      });
      if (round === 1) assert.equal(secret.status, 201);
      else {
        assert.equal(secret.status, 400);
        assert.match((secret.body as { message: string }).message, /already exists/);
      }

      const experiment = await post(`/api/conversations/${ID}/exp-config`, {
        config: { system_prompt_filename: 'system_prompt.j2' },
      });
      assert.deepEqual([experiment.status, experiment.body], [200, true]);

      const created = await post('/api/conversations', {
        initial_user_msg: `hello ${round}`,
        image_urls: [],
        replay_json: null,
        conversation_id: ID,
        repository: null,
        selected_branch: null,
        git_provider: null,
      });
      assert.equal(created.status, 200);
      assert.deepEqual((created.body as { conversation_id: string }).conversation_id, ID);

      // It asks five times at most: the conversation is there at once.
      const polled = await parley.request('GET', `/api/conversations/${ID}/events`);
      assert.equal(polled.status, 200);
      await parley.until(ID, ({ agent_state }) => agent_state === 'awaiting_user_input');

      const sent = await post(`/api/conversations/${ID}/events`, {
        action: 'message',
        args: { content: `and then ${round}`, image_urls: null, file_urls: null },
      });
      assert.deepEqual([sent.status, sent.body], [200, { success: true }]);
      const messages = await parley.untilEvents(ID, (events) => {
        const texts = events.map(({ message }) => message);
        return texts.lastIndexOf('What next?') > texts.indexOf(`and then ${round}`);
      });
      const said = messages.filter(({ source }) => source === 'user').map(({ message }) => message);
      for (const text of [`hello ${round}`, `and then ${round}`]) {
        assert.equal(said.filter((one) => one === text).length, 1, text);
      }

      const stopped = await post(`/api/conversations/${ID}/stop`);
      assert.deepEqual(stopped.body, {
        status: 'ok',
        conversation_id: ID,
        message: 'Conversation stopped successfully',
        conversation_status: 'RUNNING',
      });
      assert.equal((await parley.until(ID, () => true)).status, 'STOPPED');
    });
  }

  it('pages the log, and takes 404 of a conversation that is not there for an empty one', async () => {
    const page = `/api/conversations/${ID}/events?start_id=0&reverse=False&limit=100`;
    const { events } = (await parley.ok('GET', page)) as { events: { id: number }[] };
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, n) => n),
    );
    assert.equal((await parley.request('GET', '/api/conversations/none/events')).status, 404);
  });
});
