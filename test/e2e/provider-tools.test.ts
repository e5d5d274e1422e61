import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isAction } from '../../src/events/event.ts';
import { eventually } from '../support/eventually.ts';
import { type GithubWithGit, startGithubWithGit } from '../support/git/github-with-git.ts';
import { TOKENS } from '../support/git/providers/world.ts';
import { call, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeModel } from '../support/stored.ts';

interface Entry {
  action: string;
  subject: string;
  detail: { tool: string; number: number | null; url: string | null; outcome: string };
}

describe('the tools of a git provider in a conversation', () => {
  let github: GithubWithGit;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    github = await startGithubWithGit({ 'acme/app': {} });
    model = await startModelServer(({ body, turn }) => {
      if (!body.tools?.length) return say('A title');
      const [source_branch = ''] = /parley-(opens|crashes)/.exec(JSON.stringify(body.messages)) ?? [];
      return (
        [
          call('execute_bash', { command: 'git commit -q --allow-empty -m Work && git push -q origin HEAD' }),
          call('create_pr', { title: 'Work', body: 'Done.', source_branch, target_branch: 'main' }),
        ][turn] ?? call('finish', { message: 'done' })
      );
    });
    parley = await startParley();
    await storeModel(parley, model);
    await parley.ok('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: TOKENS.good, host: github.git.base } },
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
    await github[Symbol.asyncDispose]();
  });

  const begin = (conversation_id: string) =>
    parley.ok('POST', '/api/conversations', {
      conversation_id,
      repository: 'acme/app',
      git_provider: 'github',
      initial_user_msg: 'Open a request.',
    });
  const finished = (id: string) => parley.until(id, ({ agent_state }) => agent_state === 'finished');
  const posts = () =>
    github.api.asked.filter(({ method, path }) => method === 'POST' && path.endsWith('/pulls'));
  const written = async (id: string) =>
    (await parley.command('audit', '--json'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
      .filter(({ action, subject }) => action === 'provider.write' && subject === id);
  const answerOf = async (id: string) => {
    const events = await parley.events(id);
    const asked = events.filter((event) => isAction(event, 'call_tool_mcp'));
    assert.deepEqual(
      asked.map(({ args }) => args.name),
      ['create_pr'],
    );
    const answers = events.filter((event) => 'observation' in event && event.cause === asked[0]?.id);
    assert.equal(answers.length, 1);
    assert.ok(!JSON.stringify(events).includes(TOKENS.good));
    return answers[0];
  };

  it('open a pull request that the log and the audit log tell of', async () => {
    await begin('opens');
    await finished('opens');
    const answer = await answerOf('opens');
    assert.ok(answer && 'observation' in answer && answer.observation === 'mcp', JSON.stringify(answer));
    assert.match(answer.content, /^Done: #\d+ http/);
    assert.equal(posts().length, 1);
    const [entry, ...more] = await written('opens');
    assert.deepEqual(more, []);
    assert.deepEqual([entry?.detail.tool, entry?.detail.outcome], ['create_pr', 'done']);
    assert.ok(entry?.detail.url && answer.content.includes(entry.detail.url));
  });

  it('repeat nothing after a crash in the midst of it, and say that nobody knows', async () => {
    const before = posts().length;
    github.api.hang(true);
    await begin('crashes');
    await eventually('the request of the tool', () => posts().length > before);
    github.api.hang(false);
    await parley.crash();
    await parley.start();
    await finished('crashes');
    const answer = await answerOf('crashes');
    assert.ok(answer && 'observation' in answer && answer.observation === 'error');
    assert.match(answer.content, /its outcome is not known.*It was not repeated/);
    assert.equal(posts().length, before + 1);
    assert.deepEqual(
      (await written('crashes')).map(({ detail }) => [detail.tool, detail.outcome]),
      [['create_pr', 'unknown']],
    );
  });
});
