import assert from 'node:assert/strict';
import { BRANCHES, FILES, ISSUE, PULL_REQUEST, REVIEW, TOKENS } from '../support/git/providers/world.ts';
import { type Fact, ISSUE_QUESTIONS, never, value } from './git-provider-under.ts';

/** In an order of its own: providers have different ones. */
function sortedRows(rows: string[][]): string[][] {
  return rows.toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));
}

const TASKS = { page: 1, perPage: 10 };

/** What a provider says of what is there. */
export const answerFacts: Readonly<Record<string, Fact>> = {
  'says whose token it is': async (under) => {
    const user = value(await under.ask().whoAmI(never));
    assert.equal(user.login, 'ann');
    assert.notEqual(user.id, '');
  },

  'tells a token that is refused, one that has expired, and none': async (under) => {
    assert.equal((await under.ask('tok-wrong').whoAmI(never)).kind, 'refused');
    const expired = await under.ask(TOKENS.expired).whoAmI(never);
    assert.equal(expired.kind, under.dialect.knowsExpired ? 'expired' : 'refused');
    assert.equal((await under.ask(null).whoAmI(never)).kind, 'no_token');
  },

  'names the organisations': async (under) => {
    const owners = value(await under.ask().owners(never));
    assert.ok(owners.some(({ name }) => name === 'acme'));
  },

  'lists repositories page by page, those pushed to last first': async (under) => {
    const names: string[] = [];
    for (let page = 1; ; page += 1) {
      const which = { page, perPage: 2, sort: 'pushed', owner: null } as const;
      const listed = value(await under.ask().repositories(which, never));
      names.push(...listed.items.map(({ fullName }) => fullName));
      assert.ok(listed.items.length <= 2);
      if (!listed.more) break;
    }
    assert.deepEqual(
      names,
      ['acme/app', 'acme/hidden', 'ann/notes'].map((name) => under.name(name)),
    );
  },

  'lists the repositories of one organisation': async (under) => {
    const owners = value(await under.ask().owners(never));
    const owner = owners.find(({ name }) => name === 'acme')?.id ?? '';
    const which = { page: 1, perPage: 10, sort: 'full_name', owner } as const;
    const { items, more } = value(await under.ask().repositories(which, never));
    assert.deepEqual(items.map(({ fullName }) => fullName).toSorted(), [
      under.name('acme/app'),
      under.name('acme/hidden'),
    ]);
    assert.equal(more, false);
  },

  'finds repositories by a part of their names': async (under) => {
    const which = { page: 1, perPage: 5, sort: 'stars', order: 'desc' } as const;
    const found = value(await under.ask().searchRepositories({ ...which, query: 'app' }, never));
    assert.deepEqual(
      found.items.map(({ fullName }) => fullName),
      [under.name('acme/app')],
    );
    const none = value(await under.ask().searchRepositories({ ...which, query: 'no-such-thing' }, never));
    assert.deepEqual([none.items, none.more], [[], false]);
  },

  'knows the default branch and who may see a repository': async (under) => {
    const { fullName, defaultBranch, isPublic, stars } = value(
      await under.ask().repository(under.name('acme/app'), never),
    );
    assert.deepEqual([fullName, defaultBranch, isPublic], [under.name('acme/app'), 'main', true]);
    assert.equal(stars, under.dialect.knowsStars ? 5 : null);
    const hidden = value(await under.ask().repository(under.name('acme/hidden'), never));
    assert.deepEqual([hidden.defaultBranch, hidden.isPublic], ['trunk', false]);
  },

  'shows a public repository without a token, and no other': async (under) => {
    const nobody = under.ask(null);
    const name = under.name('acme/app');
    assert.equal(value(await nobody.repository(name, never)).defaultBranch, 'main');
    assert.equal(
      value(await nobody.branches(name, { page: 1, perPage: 10, query: null }, never)).items.length,
      3,
    );
    assert.equal(value(await nobody.file(name, 'README.md', null, never)).content, FILES['README.md']);
    assert.equal(value(await nobody.reviewComments(name, PULL_REQUEST.number, never)).length, 2);
    const hidden = await nobody.repository(under.name('acme/hidden'), never);
    assert.ok(hidden.kind === 'not_found' || hidden.kind === 'no_token');
    assert.equal((await nobody.ownPullRequests(never)).kind, 'no_token');
  },

  'says that a repository is not there': async (under) => {
    const answer = await under.ask().repository(under.name('acme/absent'), never);
    assert.ok(answer.kind === 'not_found');
    assert.match(answer.message, /absent/);
  },

  'lists branches page by page': async (under) => {
    const found: { name: string; commit: string; isProtected: boolean }[] = [];
    for (let page = 1; ; page += 1) {
      const which = { page, perPage: 2, query: null };
      const { items, more } = value(await under.ask().branches(under.name('acme/app'), which, never));
      found.push(...items.map(({ name, commit, isProtected }) => ({ name, commit, isProtected })));
      if (!more) break;
    }
    assert.deepEqual(
      found.map(({ name, commit }) => [name, commit]),
      BRANCHES.map(({ name, commit }) => [name, commit]),
    );
  },

  'finds branches by what is in their names': async (under) => {
    const search = async (query: string, token: string | null = TOKENS.good) => {
      const which = { page: 1, perPage: 10, query };
      const { items } = value(await under.ask(token).branches(under.name('acme/app'), which, never));
      return items.map(({ name }) => name);
    };
    assert.deepEqual(await search('crash'), ['fix/crash']);
    assert.deepEqual(await search('fix', null), ['fix/crash']);
    assert.deepEqual(await search('absent'), []);
  },

  'reads a file, at the default branch or another': async (under) => {
    const name = under.name('acme/app');
    for (const ref of [null, 'feature/login']) {
      const file = value(await under.ask().file(name, 'README.md', ref, never));
      assert.deepEqual(file, { path: 'README.md', content: FILES['README.md'] });
    }
    assert.equal(value(await under.ask().file(name, 'docs/more/deep.md', null, never)).content, 'Deep\n');
  },

  'gives no folder for a file, nothing for what is not there, and nothing too large': async (under) => {
    const name = under.name('acme/app');
    const of = under.ask();
    assert.equal((await of.file(name, 'docs', null, never)).kind, 'not_found');
    assert.equal((await of.file(name, 'absent.md', null, never)).kind, 'not_found');
    assert.equal((await of.folder(name, 'absent', null, never)).kind, 'not_found');
    const large = await of.file(name, 'docs/large.md', null, never);
    assert.ok(large.kind === 'too_large');
    assert.match(large.message, /1 MiB/);
  },

  'lists a folder, itself alone': async (under) => {
    const list = async (path: string) => {
      const entries = value(await under.ask().folder(under.name('acme/app'), path, null, never));
      return sortedRows(entries.map(({ name, path: at, kind }) => [name, at, kind]));
    };
    assert.deepEqual(await list('docs'), [
      ['guide.md', 'docs/guide.md', 'file'],
      ['large.md', 'docs/large.md', 'file'],
      ['more', 'docs/more', 'folder'],
    ]);
    assert.deepEqual(await list(''), [
      ['.openhands', '.openhands', 'folder'],
      ['README.md', 'README.md', 'file'],
      ['docs', 'docs', 'folder'],
    ]);
  },

  'reads a pull request': async (under) => {
    const request = value(await under.ask().pullRequest(under.name('acme/app'), PULL_REQUEST.number, never));
    const { title, body, state, isDraft, head, base } = request;
    assert.deepEqual([title, body, state, isDraft], [PULL_REQUEST.title, PULL_REQUEST.body, 'open', false]);
    assert.deepEqual([head.branch, head.repository, base], ['feature/login', null, 'main']);
    assert.ok(BRANCHES[0].commit.startsWith(head.commit ?? 'none'));
    assert.match(request.url ?? '', /^https?:\/\//);
    assert.equal((await under.ask().pullRequest(under.name('acme/app'), 404, never)).kind, 'not_found');
  },

  'keeps the conversation of a pull request apart from what reviewers say of lines': async (under) => {
    const name = under.name('acme/app');
    const of = under.ask();
    const said = value(await of.pullRequestComments(name, PULL_REQUEST.number, TASKS, never));
    assert.deepEqual(
      said.items.map(({ author, body }) => [author, body]),
      [['bob', 'Why?']],
    );
    const reviewed = value(await of.reviewComments(name, PULL_REQUEST.number, never));
    assert.deepEqual(
      reviewed.map(({ body, path, line, isResolved }) => [body, path, line, isResolved]),
      [
        [REVIEW.open.body, REVIEW.open.path, REVIEW.open.line, false],
        [REVIEW.settled.body, REVIEW.settled.path, REVIEW.settled.line, true],
      ],
    );
  },

  'adds a comment to a pull request': async (under) => {
    const name = under.name('acme/app');
    const made = value(
      await under.ask().addPullRequestComment(name, PULL_REQUEST.number, 'Since **then**', never),
    );
    assert.deepEqual([made.author, made.body], ['ann', 'Since **then**']);
    const said = value(await under.ask().pullRequestComments(name, PULL_REQUEST.number, TASKS, never));
    assert.equal(said.items.at(-1)?.body, 'Since **then**');
  },

  'opens a pull request, and says so when there is one already': async (under) => {
    const request = {
      title: 'Mend the crash',
      body: 'See #3',
      head: 'fix/crash',
      base: 'main',
      isDraft: false,
    };
    const name = under.name('acme/app');
    const made = value(await under.ask().openPullRequest(name, request, never));
    assert.deepEqual([made.title, made.head.branch, made.base], ['Mend the crash', 'fix/crash', 'main']);
    const again = await under.ask().openPullRequest(name, request, never);
    assert.ok(again.kind === 'rejected');
    assert.match(again.message, /exists|already/i);
  },

  'opens no pull request from a fork: a branch of another owner is none': async (under) => {
    const name = under.name('acme/app');
    const request = { title: 'T', body: 'B', head: 'fix/crash', base: 'main', isDraft: false };
    for (const given of [
      { head: 'mallory:fix/crash' },
      { head: 'acme:fix/crash' },
      { base: 'mallory:main' },
    ]) {
      const answer = await under.ask().openPullRequest(name, { ...request, ...given }, never);
      assert.ok(answer.kind === 'rejected');
      assert.match(answer.message, /is no branch of .*name one of its own/);
    }
    assert.deepEqual(under.server.asked, []);
  },

  'says which scope a token lacks': async (under) => {
    const answer = await under
      .ask(TOKENS.readOnly)
      .addPullRequestComment(under.name('acme/app'), PULL_REQUEST.number, 'No', never);
    assert.ok(answer.kind === 'without_scope');
    if (under.dialect.scope) assert.match(answer.needs ?? '', under.dialect.scope);
    assert.match(answer.message, /permission/);
  },

  'tells how the checks of a commit stand': async (under) => {
    const checks = async (ref: string) => value(await under.ask().checks(under.name('acme/app'), ref, never));
    const failing = await checks(BRANCHES[0].commit);
    assert.equal(failing.state, 'failure');
    assert.deepEqual(sortedRows(failing.checks.map(({ name, state }) => [name, state])), [
      ['lint', 'success'],
      ['test', 'failure'],
    ]);
    assert.equal((await checks('main')).state, 'success');
    assert.deepEqual(await checks('fix/crash'), { state: 'none', checks: [] });
  },

  'finds the own pull requests, and what keeps each from being merged': async (under) => {
    const own = value(await under.ask().ownPullRequests(never));
    assert.deepEqual(
      own.toSorted((a, b) => b.number - a.number),
      [
        {
          repository: under.name('acme/app'),
          number: 5,
          title: PULL_REQUEST.title,
          hasConflicts: true,
          hasFailingChecks: true,
          hasUnresolvedComments: true,
        },
        {
          repository: under.name('acme/hidden'),
          number: 4,
          title: 'Tidy up',
          hasConflicts: false,
          hasFailingChecks: false,
          hasUnresolvedComments: false,
        },
      ],
    );
  },

  'reads an issue and talks on it, where the provider has issues': async (under) => {
    const name = under.name('acme/app');
    const of = under.ask();
    const asked = await of.issue(name, ISSUE.number, never);
    if (!under.dialect.hasIssues) {
      for (const ask of Object.values(ISSUE_QUESTIONS))
        assert.equal((await ask(of, name)).kind, 'unsupported');
      return;
    }
    const issue = value(asked);
    assert.deepEqual(
      [issue.number, issue.title, issue.body, issue.isOpen, issue.author, issue.labels],
      [ISSUE.number, ISSUE.title, ISSUE.body, true, 'bob', [ISSUE.label]],
    );
    assert.equal((await of.issue(name, 404, never)).kind, 'not_found');
    const made = value(await of.addIssueComment(name, ISSUE.number, 'Third', never));
    assert.deepEqual([made.author, made.body], ['ann', 'Third']);
    const bodies: string[] = [];
    for (let page = 1; ; page += 1) {
      const { items, more } = value(await of.issueComments(name, ISSUE.number, { page, perPage: 2 }, never));
      bodies.push(...items.map(({ body }) => body));
      if (!more) break;
    }
    assert.deepEqual(bodies, ['First', 'Second', 'Third']);
    assert.deepEqual(value(await of.assignedIssues(never)), [
      {
        repository: under.name(under.dialect.assigned ?? 'acme/app'),
        number: ISSUE.number,
        title: ISSUE.title,
      },
    ]);
  },
};
