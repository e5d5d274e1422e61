import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, chmod, cp, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { isObservation } from '../../src/events/event.ts';
import { version } from '../../src/observe/version.ts';
import { isRoot } from '../support/bubblewrap.ts';
import { startForge } from '../support/git/forge.ts';
import { startGitlab } from '../support/git/providers/gitlab.ts';
import { TOKENS } from '../support/git/providers/world.ts';
import { startEverything } from '../support/mcp-servers.ts';
import { call, say } from '../support/model/answers.ts';
import { startModelServer } from '../support/model/server.ts';
import { startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

let checkout = '';
before(async () => {
  // It bundles into the checkout, which is not ours to write to.
  checkout = await mkdtemp(join(tmpdir(), 'parley-bundle-'));
  for (const name of ['src', 'script', 'docs', 'package.json', 'package-lock.json']) {
    await cp(join(root, name), join(checkout, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  assert.match(await bundle(), /bundling the sources/);
});
after(() => rm(checkout, { recursive: true }));

/** What it says. */
async function bundle(): Promise<string> {
  return (await run(join(checkout, 'script/bundle'))).stderr;
}

test('the bundle serves: its interface and its pages, and an agent that works in a sandbox', async () => {
  await using app = await startParley({}, join(checkout, 'build/serve/main.js'));
  const { info } = (await app.ok('GET', '/openapi.json')) as { info: { version: string } };
  assert.equal(info.version, version);
  assert.match(String(await app.ok('GET', '/docs/')), /Parley API/);
  assert.match(String(await app.ok('GET', '/docs/errors')), /# Errors/);
  assert.equal((await app.request('GET', '/docs/js/scalar.js')).status, 200);
  await app.ok('POST', '/api/settings', { agent: 'DummyAgent' });
  await app.ok('POST', '/api/conversations', { conversation_id: 'first', initial_user_msg: 'check' });
  await app.until('first', ({ agent_state }) => agent_state === 'finished');
  assert.equal(/"level":"(error|fatal)"/.test(app.output()), false, app.output());
});

test('the bundle calls out: a git provider, and a model that has it work in a repository', async () => {
  await using forge = await startForge({ 'acme/app': { files: { 'a.txt': 'one\n' } } });
  await using model = await startModelServer([call('execute_bash', { command: 'cat a.txt' }), say('One.')]);
  await using app = await startParley({}, join(checkout, 'build/serve/main.js'));
  await storeModel(app, model);
  await storeGitToken(app, forge);
  const request = { conversation_id: 'first', repository: 'acme/app', git_provider: 'github' };
  await app.ok('POST', '/api/conversations', { ...request, initial_user_msg: 'read a.txt' });
  const ended = await app.until('first', ({ agent_state: state }) =>
    ['awaiting_user_input', 'error'].includes(state),
  );
  assert.equal(ended.error, null);
  const events = await app.events('first');
  assert.equal(events.findLast((event) => isObservation(event, 'run'))?.content.trim(), 'one');
  assert.equal(/"level":"(error|fatal)"/.test(app.output()), false, app.output());
});

test('the bundle calls out: GitLab, an MCP server, and models by Anthropic’s and by OpenAI’s protocol', async () => {
  await using model = await startModelServer(() => call('finish', { message: 'Done.' }));
  await using app = await startParley({}, join(checkout, 'build/serve/main.js'));
  const gitlab = await startGitlab();
  const mcp = await startEverything('streamableHttp');
  try {
    const stored = await app.ok('POST', '/api/add-git-providers', {
      provider_tokens: { gitlab: { token: TOKENS.good, host: `${gitlab.url}/forge` } },
      mcp_config: { shttp_servers: [{ url: mcp.url }] },
    });
    assert.deepEqual(stored, {
      message: 'Git providers stored',
      providers: { gitlab: { status: 'verified', login: 'ann' } },
    });
    for (const provider of ['anthropic', 'openai']) {
      await app.ok('POST', '/api/settings', {
        llm_model: `${provider}/scripted`,
        llm_api_key: `key-of-${provider}`,
        llm_base_url: model.baseUrl,
      });
      await app.ok('POST', '/api/conversations', {
        conversation_id: provider,
        initial_user_msg: 'Say that you are done.',
      });
      const ended = await app.until(provider, ({ agent_state: state }) =>
        ['finished', 'error'].includes(state),
      );
      assert.deepEqual([ended.agent_state, ended.error], ['finished', null]);
    }
    assert.deepEqual(
      model.requests.map(({ path }) => path),
      ['/v1/messages', '/v1/chat/completions'],
    );
    for (const { body } of model.requests) assert.match(JSON.stringify(body.tools), /"echo"/);
  } finally {
    await mcp.close();
    await gitlab.close();
  }
});

test('the sources are bundled again only after a change, and what still serves from before stays', async () => {
  const build = join(checkout, 'build');
  const before = await realpath(join(build, 'serve'));
  const made = await readdir(before);
  assert.equal(await bundle(), '');
  assert.equal(await realpath(join(build, 'serve')), before);
  await appendFile(join(checkout, 'src/main.ts'), '// changed\n');
  assert.match(await bundle(), /bundling the sources/);
  const after = await realpath(join(build, 'serve'));
  assert.notEqual(after, before);
  assert.deepEqual(await readdir(after), made);
  assert.deepEqual(await readdir(before), made);
  const entries = await readdir(build);
  assert.deepEqual(entries.toSorted(), [basename(before), basename(after), 'serve'].toSorted());
});

test('who may not write to the checkout is served what its owner bundled, and nothing that is older', async (t) => {
  const build = join(checkout, 'build');
  const serves = await realpath(join(build, 'serve'));
  await chmod(build, 0o555);
  t.after(() => chmod(build, 0o755));
  // Root may write to what nobody may, as long as it has its capabilities.
  const asWho = isRoot ? ['setpriv', '--inh-caps=-all', '--bounding-set=-all'] : [];
  const bundling = () => run('/usr/bin/env', [...asWho, join(checkout, 'script/bundle')]);
  assert.equal((await bundling()).stderr, '');
  assert.equal(await realpath(join(build, 'serve')), serves);
  await appendFile(join(checkout, 'src/main.ts'), '// changed again\n');
  await assert.rejects(bundling(), { stderr: /not yours to write to/ });
  assert.equal(await realpath(join(build, 'serve')), serves);
});
