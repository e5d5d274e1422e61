import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';

describe('two users', () => {
  let model: ModelServer;
  let parley: Parley;
  let bob: string;

  before(async () => {
    model = await startModelServer(
      byTurn([call('execute_bash', { command: 'echo private > p; echo done' }), say('ok')]),
    );
    // With a second user the network of the machine is nobody's own: the scripted model must be named.
    parley = await startParley({ PARLEY_ALLOW_PRIVATE_HOSTS: `127.0.0.1:${model.port}` });
    const printed = await parley.command('keys', 'create', '--user', 'bob');
    bob = printed.trimEnd().split('\n').at(-1) ?? '';
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      git_user_name: 'Ann',
    });
    await parley.ok('POST', '/api/conversations', { conversation_id: 'mine', initial_user_msg: 'go' });
    await parley.until('mine', ({ agent_state }) => agent_state === 'awaiting_user_input');
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  it('see nothing of each other: settings, secrets, conversations', async () => {
    assert.equal((await parley.request('GET', '/api/settings', undefined, bob)).status, 404);
    assert.deepEqual(await parley.ok('GET', '/api/secrets', undefined, bob), { custom_secrets: [] });
    assert.deepEqual(await parley.ok('GET', '/api/conversations', undefined, bob), {
      results: [],
      next_page_id: null,
    });
  });

  it('get the same answer for what is foreign as for what is not there', async () => {
    const routes: [string, string, unknown?][] = [
      ['GET', ''],
      ['PATCH', '', { title: 'x' }],
      ['DELETE', ''],
      ['POST', '/start', {}],
      ['POST', '/stop'],
      ['POST', '/message', { message: 'x' }],
      ['POST', '/events', { action: 'message', args: { content: 'x' } }],
      ['GET', '/events'],
      ['GET', '/events/stream'],
      ['GET', '/trajectory'],
    ];
    for (const [method, path, body] of routes) {
      const [foreign, absent] = await Promise.all(
        ['mine', 'none'].map((id) => parley.request(method, `/api/conversations/${id}${path}`, body, bob)),
      );
      const plain = (reply: typeof foreign) =>
        JSON.stringify({ ...(reply?.body as object), request_id: '' }).replaceAll(/mine|none/g, 'ID');
      assert.equal(foreign?.status, 404, `${method} ${path}`);
      assert.equal(plain(foreign), plain(absent), `${method} ${path}`);
    }
    assert.equal((await parley.until('mine', () => true)).status, 'RUNNING', 'nothing of it changed');
  });

  it('may use the same id, each for a conversation of their own', async () => {
    await parley.ok('POST', '/api/conversations', { conversation_id: 'mine' }, bob);
    const events = await parley.events('mine', bob);
    assert.ok(!JSON.stringify(events).includes('private'));
  });

  it('lose what a key may do the moment it is revoked', async () => {
    const printed = await parley.command('keys', 'create', '--user', 'bob', '--name', 'second');
    const second = printed.trimEnd().split('\n').at(-1) ?? '';
    assert.equal((await parley.request('GET', '/api/conversations', undefined, second)).status, 200);
    const listed = await parley.command('keys', 'list');
    const id =
      listed
        .split('\n')
        .find((line) => line.includes('second'))
        ?.trim()
        .split(/\s+/)[0] ?? '';
    await parley.command('keys', 'revoke', id);
    assert.equal((await parley.request('GET', '/api/conversations', undefined, second)).status, 401);
    assert.equal((await parley.request('GET', '/api/conversations', undefined, bob)).status, 200);
  });

  it('cannot make the service call the network of the machine, unless the operator named the place', async () => {
    const settings = {
      llm_model: 'openai/x',
      llm_api_key: 'sk-key-of-bob',
      llm_base_url: 'http://127.0.0.1:9/v1',
    };
    await parley.ok('POST', '/api/settings', settings, bob);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'inside', initial_user_msg: 'x' }, bob);
    for (;;) {
      const view = (await parley.ok('GET', '/api/conversations/inside', undefined, bob)) as {
        error: { message: string } | null;
      };
      if (!view.error) continue;
      assert.match(view.error.message, /PARLEY_ALLOW_PRIVATE_HOSTS/);
      break;
    }
  });
});
