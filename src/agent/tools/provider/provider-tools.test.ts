import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Workshop } from '../../../../test/support/agent/act.ts';
import { startAzureDevops } from '../../../../test/support/git/providers/azure-devops.ts';
import { startGithub } from '../../../../test/support/git/providers/github.ts';
import { startGitlab } from '../../../../test/support/git/providers/gitlab.ts';
import type { ProviderServer } from '../../../../test/support/git/providers/server.ts';
import { TOKENS } from '../../../../test/support/git/providers/world.ts';
import type { AskableProvider, GitProvider } from '../../../git/git-provider.ts';
import { gitProvider } from '../../../git/git-providers.ts';
import { Secret } from '../../../secrets/secret.ts';
import { toolsOf } from '../toolbox.ts';
import type { HostedRepository } from './hosted.ts';

/** Only what it is asked by name: nothing here is called. */
const idle = (provider: AskableProvider) => ({ provider }) as GitProvider;

const at = (provider: GitProvider, mayWrite = true): HostedRepository => ({
  provider,
  name: 'acme/app',
  branch: 'feature/login',
  mayWrite,
});

const namesOf = (agent: 'CodeActAgent' | 'ReadOnlyAgent' | 'DummyAgent', hosted: HostedRepository) =>
  toolsOf({ agent, hosted })
    .map(({ name }) => name)
    .filter((name) => /_(pr|mr|issue|work_item|checks)$/.test(name));

describe('the tools of a git provider', () => {
  it("are called as the provider's people speak", () => {
    const all = (provider: AskableProvider) => namesOf('CodeActAgent', at(idle(provider))).join(' ');
    const pull = 'create_pr read_pr comment_on_pr';
    assert.equal(all('github'), `${pull} read_issue comment_on_issue read_checks`);
    assert.equal(all('forgejo'), `${pull} read_issue comment_on_issue read_checks`);
    assert.equal(all('gitlab'), 'create_mr read_mr comment_on_mr read_issue comment_on_issue read_checks');
    assert.equal(all('azure_devops'), `${pull} read_work_item comment_on_work_item read_checks`);
    assert.equal(all('bitbucket'), `${pull} read_checks`);
  });

  it('only read for who only reads, and without a token', () => {
    const reading = ['read_pr', 'read_issue', 'read_checks'];
    assert.deepEqual(namesOf('ReadOnlyAgent', at(idle('github'))), reading);
    assert.deepEqual(namesOf('CodeActAgent', at(idle('github'), false)), reading);
    assert.deepEqual(namesOf('DummyAgent', at(idle('github'))), []);
  });

  it('take no repository: there is but the one of the conversation', () => {
    const tools = toolsOf({ agent: 'CodeActAgent', hosted: at(idle('github')) });
    const create = tools.find(({ name }) => name === 'create_pr');
    assert.match(create?.description ?? '', /of acme\/app on GitHub/);
    const understood = create?.understand({ title: 'T', source_branch: 'b', repo_name: 'acme/hidden' }, '');
    assert.ok(understood?.ok && understood.action.action === 'call_tool_mcp');
    assert.ok(!JSON.stringify(understood.action).includes('hidden'));
  });
});

describe('the tools at azure_devops', () => {
  it('tell of a comment that was stopped before it was sent as of one that was not written', async () => {
    const server = await startAzureDevops();
    try {
      const provider = gitProvider({
        provider: 'azure_devops',
        host: `${server.url}/contoso`,
        token: new Secret(TOKENS.good),
        fetch,
        deadlineMs: 60_000,
      });
      assert.ok(provider);
      const workshop = new Workshop();
      workshop.hosted = at(provider);
      const stop = new AbortController();
      workshop.signal = stop.signal;
      const tools = toolsOf({ agent: 'CodeActAgent', hosted: workshop.hosted });
      const tool = tools.find(({ name }) => name === 'comment_on_work_item');
      assert.ok(tool);
      // The work item is read first.
      server.hang(true);
      const waiting = workshop.call(tool, { number: 3, body: 'Seen.' });
      while (server.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
      stop.abort(new Error('stopped'));
      assert.match((await waiting).content, /nothing was changed/);
      assert.deepEqual(
        server.asked.map(({ method }) => method),
        ['GET'],
      );
      assert.deepEqual(
        workshop.writes.map(({ outcome }) => outcome),
        ['refused'],
      );
    } finally {
      await server.close();
    }
  });
});

for (const [provider, start, words] of [
  ['github', startGithub, { request: 'pr', mark: '#', path: '' }],
  ['gitlab', startGitlab, { request: 'mr', mark: '!', path: '/forge' }],
] as const) {
  describe(`the tools at ${provider}`, () => {
    const { request, mark, path } = words;
    let server: ProviderServer;
    let workshop: Workshop;
    beforeEach(async () => {
      server = await start();
      workshop = new Workshop();
      workshop.hosted = at(open(server, TOKENS.good));
    });
    afterEach(() => server.close());

    const open = ({ url }: ProviderServer, token: string): GitProvider => {
      const made = gitProvider({
        provider,
        host: `${url}${path}`,
        token: new Secret(token),
        fetch,
        deadlineMs: 60_000,
      });
      assert.ok(made);
      return made;
    };
    const call = async (name: string, input: object) => {
      const { hosted } = workshop;
      assert.ok(hosted);
      const tool = toolsOf({ agent: 'CodeActAgent', hosted }).find((one) => one.name === name);
      assert.ok(tool, name);
      return await workshop.call(tool, input);
    };
    const posts = () => server.asked.filter(({ method }) => method === 'POST');

    it('show an issue, a request with what reviewers said, and checks', async () => {
      const issue = await call('read_issue', { number: 3 });
      assert.equal(issue.observation, 'mcp');
      assert.match(issue.content, /#3 \(open\): The login fails\nBy bob\. Labels: bug\./);
      assert.match(issue.content, /\[bob, 2026-02-01T10:00:00[^\]]*\]\nFirst/);

      const shown = await call(`read_${request}`, { number: 5 });
      assert.ok(shown.content.startsWith(`${mark}5 (open): Mend the login`), shown.content);
      assert.match(shown.content, /from feature\/login .*to main/);
      assert.match(shown.content, /Why\?/);
      assert.match(shown.content, /src\/login\.ts:12, not resolved\n\[bob, [^\]]*\]\nName this\./);

      const checks = await call('read_checks', {});
      assert.match(checks.content, /Checks of feature\/login, all in all: failure\n.*success: lint/);
      assert.match((await call('read_checks', { ref: 'fix/crash' })).content, /no checks for fix\/crash/);
      assert.deepEqual(workshop.writes, []);
    });

    it('open a request once, to the default branch, and tell of it', async () => {
      const made = await call(`create_${request}`, {
        title: 'Mend it',
        body: 'Why',
        source_branch: 'fix/crash',
      });
      assert.equal(made.observation, 'mcp', made.content);
      assert.match(made.content, new RegExp(`^Done: ${mark}\\d+ http`));
      assert.equal(posts().length, 1);
      const sent = JSON.stringify(posts()[0]?.body);
      assert.match(sent, /"main"/);
      assert.match(sent, /fix\/crash/);
      const [write] = workshop.writes;
      assert.deepEqual(
        [write?.tool, write?.repository, write?.outcome],
        [`create_${request}`, 'acme/app', 'done'],
      );
      assert.match(write?.url ?? '', /^http/);

      const again = await call(`create_${request}`, { title: 'Mend it', source_branch: 'fix/crash' });
      assert.equal(again.observation, 'error');
      assert.equal(workshop.writes.at(-1)?.outcome, 'refused');
    });

    it('comment, each once, and tell of it', async () => {
      for (const [name, number] of [
        ['comment_on_issue', 3],
        [`comment_on_${request}`, 5],
      ] as const) {
        const done = await call(name, { number, body: 'Seen.' });
        assert.match(done.content, new RegExp(`^Done: ${name === 'comment_on_issue' ? '#' : mark}${number}`));
      }
      assert.deepEqual(
        workshop.writes.map(({ tool, number, outcome }) => [tool, number, outcome]),
        [
          ['comment_on_issue', 3, 'done'],
          [`comment_on_${request}`, 5, 'done'],
        ],
      );
      assert.equal(posts().length, 2);
      assert.match((await call('read_issue', { number: 3 })).content, /\nSeen\./);
    });

    it('say what is wrong in a sentence, and whether it may have been done', async () => {
      assert.equal((await call('read_issue', { number: 999 })).observation, 'error');
      workshop.hosted = at(open(server, TOKENS.expired));
      const refused = await call('comment_on_issue', { number: 3, body: 'Seen.' });
      assert.match(refused.content, /token/);
      assert.doesNotMatch(refused.content, /not known/);
      server.answerAll({ status: 502, body: 'bad gateway' });
      const broken = await call('comment_on_issue', { number: 3, body: 'Seen.' });
      assert.match(broken.content, /Whether it was done is not known, and it was not tried again/);
      assert.equal(posts().length, 2);
      assert.deepEqual(
        workshop.writes.map(({ outcome }) => outcome),
        ['refused', 'unknown'],
      );
    });

    it('open no request from a fork', async () => {
      const input = { title: 'T', source_branch: 'mallory:main', target_branch: 'main' };
      const refused = await call(`create_${request}`, input);
      assert.match(refused.content, /mallory:main is no branch of acme\/app/);
      assert.deepEqual([posts(), workshop.writes[0]?.outcome], [[], 'refused']);
    });

    it('tell of what was stopped while it was asked as of something that may have been done', async () => {
      const stop = new AbortController();
      workshop.signal = stop.signal;
      server.hang(true);
      const waiting = call('comment_on_issue', { number: 3, body: 'Seen.' });
      while (posts().length === 0) await new Promise((resolve) => setImmediate(resolve));
      stop.abort(new Error('stopped'));
      assert.match(
        (await waiting).content,
        /stopped while the provider was asked\. Whether it was done is not known/,
      );
      assert.deepEqual(
        workshop.writes.map(({ outcome }) => outcome),
        ['unknown'],
      );
    });
  });
}
