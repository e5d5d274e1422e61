import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isAction } from '../../../src/events/event.ts';
import { type GithubWithGit, startGithubWithGit } from '../../support/git/github-with-git.ts';
import { ISSUE, TOKENS } from '../../support/git/providers/world.ts';
import { call, say } from '../../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';

const ESTIMATE = 'Solvable: partly\nIt says what fails, and not where.\n- The browser that was used';

describe('enable_solvability_analysis', () => {
  let github: GithubWithGit;
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    github = await startGithubWithGit({ 'acme/app': {} });
    model = await startModelServer(({ body }) => {
      if (body.tools?.length) return call('finish', { message: 'done' });
      return say(JSON.stringify(body.messages).includes('<issue>') ? ESTIMATE : 'A title');
    });
    parley = await startParley();
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
      language: 'de',
    });
    await parley.ok('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: TOKENS.good, host: github.git.base } },
    });
  });
  after(async () => {
    await parley.close();
    await model.close();
    await github[Symbol.asyncDispose]();
  });

  /** What became of a conversation: how often the model was asked for an estimate, and what the log has of it. */
  async function started(id: string, task_type: string | null) {
    const first = model.requests.length;
    await parley.ok('POST', '/api/conversations', {
      conversation_id: id,
      ...(task_type === null
        ? { repository: 'acme/app', git_provider: 'github', initial_user_msg: 'Look at issue #3.' }
        : {
            suggested_task: {
              git_provider: 'github',
              task_type,
              repo: 'acme/app',
              issue_number: ISSUE.number,
              title: ISSUE.title,
            },
          }),
    });
    await parley.until(id, ({ agent_state, status }) => agent_state === 'finished' || status === 'ERROR');
    const requests = model.requests.slice(first).map(({ body }) => body);
    const events = await parley.events(id);
    return {
      asked: requests.filter((body) => JSON.stringify(body).includes('<issue>')),
      steps: requests.filter((body) => body.tools?.length),
      told: events.filter((event) => isAction(event, 'message') && event.args.solvability !== undefined),
      finish: events.find((event) => isAction(event, 'finish')),
    };
  }

  it('on: the model judges an issue first; it is stored, shown, told to the agent, and counted', async () => {
    const { asked, steps, told, finish } = await started('estimated', 'OPEN_ISSUE');
    assert.equal(asked.length, 1);
    const question = JSON.stringify(asked[0]?.messages);
    assert.ok(question.includes(ISSUE.body) && question.includes('First'), 'the issue and its comments');
    assert.match(question, /German \(de\)/);

    const [event, ...more] = told;
    assert.deepEqual(more, []);
    assert.ok(event && isAction(event, 'message'));
    assert.deepEqual(event.args.solvability, { verdict: 'partly', missing: ['The browser that was used'] });
    assert.equal(event.source, 'agent');
    assert.equal(event.args.wait_for_response, false);
    assert.match(
      event.args.content,
      /a part of this can be solved[^]*and not where\.[^]*Missing:\n- The browser/,
    );

    assert.equal(steps.length, 1);
    assert.match(
      JSON.stringify(steps[0]?.messages),
      /Before you began, the issue was judged.*The browser that was used/,
    );
    assert.equal(steps[0]?.messages.at(-1)?.role, 'user');
    const used = event.llm_metrics?.accumulated_token_usage.prompt_tokens ?? 0;
    assert.ok(used > 0);
    assert.ok((finish?.llm_metrics?.accumulated_token_usage.prompt_tokens ?? 0) > used);
  });

  it('is of conversations that start from an issue, and of no others', async () => {
    for (const [id, task] of [
      ['request', 'OPEN_PR'],
      ['words', null],
    ] as const) {
      const { asked, told, steps } = await started(id, task);
      assert.deepEqual([asked.length, told.length, steps.length], [0, 0, 1], id);
    }
  });

  it('off: no such call', async () => {
    await parley.ok('PATCH', '/api/settings', { enable_solvability_analysis: false });
    const { asked, told, steps } = await started('off', 'OPEN_ISSUE');
    assert.deepEqual([asked.length, told.length, steps.length], [0, 0, 1]);
  });
});
