import assert from 'node:assert/strict';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import type { Answer } from '../../src/git/answer.ts';
import type { AskableProvider, GitProvider } from '../../src/git/git-provider.ts';
import { gitProvider } from '../../src/git/git-providers.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { selfSigned } from '../support/certificate.ts';
import { type Given, type ProviderServer, startProviderServer } from '../support/git-providers/server.ts';
import { BRANCHES, FILES, ISSUE, PULL_REQUEST, REVIEW, TOKENS } from '../support/git-providers/world.ts';

/** One provider, and how what it serves differs from what the others do. */
export interface ProviderDialect {
  provider: AskableProvider;
  start(): Promise<ProviderServer>;
  /** Below the server's address, as a user stores it: "" or "/organisation". */
  path: string;
  /** Below which alone it may be asked. */
  apis: readonly string[];
  /** The whole name of `acme/app` and its like. */
  fullName(name: string): string;
  /** Of which repository the assigned issue is, where it is not `acme/app`. */
  assigned?: string;
  /** How it says that too much was asked. */
  limit(until: Date): Given;
  /** Whether that says until when. */
  knowsUntil: boolean;
  /** Whether it tells an expired token from a wrong one. */
  knowsExpired: boolean;
  knowsStars: boolean;
  hasIssues: boolean;
  /** What it names as the scope that is missing. */
  scope: RegExp | null;
}

/** A provider that runs, and the port to it. */
class Under {
  readonly dialect: ProviderDialect;
  readonly server: ProviderServer;
  /** Every request that left. */
  readonly sent: Request[] = [];

  constructor(dialect: ProviderDialect, server: ProviderServer) {
    this.dialect = dialect;
    this.server = server;
  }

  ask(token: string | null = TOKENS.good, more: { host?: string; deadlineMs?: number } = {}): GitProvider {
    const provider = gitProvider({
      provider: this.dialect.provider,
      host: `${this.server.url}${this.dialect.path}`,
      token: token === null ? null : new Secret(token),
      fetch: (input, init) => {
        this.sent.push(new Request(input, init));
        return fetch(input, init);
      },
      ...more,
    });
    assert.ok(provider);
    return provider;
  }

  name(name: string): string {
    return this.dialect.fullName(name);
  }
}

type Fact = (under: Under) => Promise<void>;

const never = new AbortController().signal;

function value<T>(answer: Answer<T>): T {
  assert.ok(answer.kind === 'ok', `${answer.kind}: ${'message' in answer ? answer.message : ''}`);
  return answer.value;
}

/** In an order of its own: providers have different ones. */
function sortedRows(rows: string[][]): string[][] {
  return rows.toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));
}

/** One question of each kind. */
const QUESTIONS: Readonly<Record<string, (of: GitProvider, repository: string) => Promise<Answer<unknown>>>> =
  {
    whoAmI: (of) => of.whoAmI(never),
    owners: (of) => of.owners(never),
    repositories: (of) => of.repositories({ page: 1, perPage: 2, sort: 'pushed', owner: null }, never),
    searchRepositories: (of) =>
      of.searchRepositories({ query: 'app', page: 1, perPage: 5, sort: 'stars', order: 'desc' }, never),
    repository: (of, name) => of.repository(name, never),
    branches: (of, name) => of.branches(name, { page: 1, perPage: 2, query: null }, never),
    searchBranches: (of, name) => of.branches(name, { page: 1, perPage: 2, query: 'fix' }, never),
    file: (of, name) => of.file(name, 'README.md', null, never),
    folder: (of, name) => of.folder(name, 'docs', null, never),
    pullRequest: (of, name) => of.pullRequest(name, PULL_REQUEST.number, never),
    pullRequestComments: (of, name) =>
      of.pullRequestComments(name, PULL_REQUEST.number, { page: 1, perPage: 10 }, never),
    addPullRequestComment: (of, name) => of.addPullRequestComment(name, PULL_REQUEST.number, 'Done', never),
    reviewComments: (of, name) => of.reviewComments(name, PULL_REQUEST.number, never),
    openPullRequest: (of, name) =>
      of.openPullRequest(name, { title: 'T', body: 'B', head: 'main', base: 'main', isDraft: false }, never),
    checks: (of, name) => of.checks(name, 'main', never),
    ownPullRequests: (of) => of.ownPullRequests(never),
  };
const ISSUE_QUESTIONS: typeof QUESTIONS = {
  issue: (of, name) => of.issue(name, ISSUE.number, never),
  issueComments: (of, name) => of.issueComments(name, ISSUE.number, { page: 1, perPage: 1 }, never),
  addIssueComment: (of, name) => of.addIssueComment(name, ISSUE.number, 'Done', never),
  assignedIssues: (of) => of.assignedIssues(never),
};

function questionsOf({ hasIssues }: ProviderDialect): (typeof QUESTIONS)[string][] {
  return [...Object.values(QUESTIONS), ...(hasIssues ? Object.values(ISSUE_QUESTIONS) : [])];
}

const TASKS = { page: 1, perPage: 10 };

const facts: Readonly<Record<string, Fact>> = {
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
    assert.match(request.url, /^https?:\/\//);
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

  'says until when it takes no more requests': async (under) => {
    const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000);
    under.server.answerAll(under.dialect.limit(until));
    for (const ask of questionsOf(under.dialect)) {
      const answer = await ask(under.ask(), under.name('acme/app'));
      assert.ok(answer.kind === 'rate_limited');
      if (!under.dialect.knowsUntil) {
        assert.equal(answer.until, null);
        continue;
      }
      // Retry-After counts from when the answer is read.
      const late = (answer.until?.getTime() ?? 0) - until.getTime();
      assert.ok(late >= 0 && late < 120_000, `${late} ms`);
    }
  },

  'takes nothing that is not in the documented shape': async (under) => {
    const bodies: Given[] = [
      { body: 'no JSON' },
      { body: '' },
      { body: 'null' },
      { body: '7' },
      { body: '{}' },
      { body: '[{}]' },
      { body: '{"data":null}' },
      { body: `"${'x'.repeat(5 * 1024 * 1024)}"` },
    ];
    for (const given of bodies) {
      under.server.answerAll(given);
      for (const [index, ask] of questionsOf(under.dialect).entries()) {
        const { kind } = await ask(under.ask(), under.name('acme/app'));
        assert.notEqual(kind, 'ok', `question ${index}: ${String(given.body).slice(0, 20)}`);
      }
    }
  },

  'tells errors of the provider, and hides a token that it sends back': async (under) => {
    for (const status of [500, 502, 503]) {
      under.server.answerAll({ status, body: 'down' });
      for (const ask of questionsOf(under.dialect)) {
        assert.equal((await ask(under.ask(), under.name('acme/app'))).kind, 'unavailable');
      }
    }
    under.server.answerAll({ status: 400, body: { message: `You sent ${TOKENS.good}!` } });
    for (const ask of questionsOf(under.dialect)) {
      const answer = await ask(under.ask(), under.name('acme/app'));
      if (answer.kind !== 'ok') assert.ok(!answer.message.includes(TOKENS.good), answer.message);
    }
  },

  'follows no redirect, so that a token goes nowhere else': async (under) => {
    const elsewhere = await startProviderServer(() => ({ body: {} }));
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        under.server.answerAll({ status, headers: { location: `${elsewhere.url}/` } });
        for (const ask of questionsOf(under.dialect)) {
          assert.notEqual((await ask(under.ask(), under.name('acme/app'))).kind, 'ok');
        }
      }
      assert.deepEqual(elsewhere.asked, []);
    } finally {
      await elsewhere.close();
    }
  },

  'sends the token to its own host alone, in the header that is for it': async (under) => {
    for (const ask of questionsOf(under.dialect)) await ask(under.ask(), under.name('acme/app'));
    assert.ok(under.sent.length > 10);
    for (const request of under.sent) {
      const { origin, pathname } = new URL(request.url);
      assert.equal(origin, under.server.url);
      assert.ok(
        under.dialect.apis.some((api) => pathname.startsWith(api)),
        pathname,
      );
      assert.ok(!decodeURIComponent(request.url).includes(TOKENS.good));
      assert.ok(!(await request.clone().text()).includes(TOKENS.good));
      assert.equal(request.redirect, 'manual');
      for (const [name, sent] of request.headers) {
        if (name !== 'authorization') assert.ok(!sent.includes(TOKENS.good), name);
      }
    }
  },

  'asks for nothing outside of the repositories, whatever a name or path says': async (under) => {
    const of = under.ask();
    const names = ['../user', 'acme/..', './app', 'acme', '', 'acme/app/../../..', 'a//b', 'acme/\uD800'];
    for (const name of names) {
      const answer = await of.repository(name, never);
      assert.notEqual(answer.kind, 'ok', name);
    }
    for (const path of ['../../../user', 'a/../../b', '..', 'a//b', './x']) {
      assert.notEqual((await of.file(under.name('acme/app'), path, null, never)).kind, 'ok', path);
      assert.notEqual((await of.folder(under.name('acme/app'), path, null, never)).kind, 'ok', path);
    }
    for (const { path } of under.server.asked) {
      assert.ok(!/(^|\/)(%2e|\.)(%2e|\.)?(\/|$)/i.test(path), path);
      assert.ok(
        under.dialect.apis.some((api) => path.startsWith(api)),
        path,
      );
    }
  },

  'says that the host is down, does not answer, or shows an unknown certificate': async (under) => {
    const { provider } = under.dialect;
    const path = under.dialect.path;
    const whoAt = (host: string, deadlineMs?: number) =>
      under.ask(TOKENS.good, { host: host + path, ...(deadlineMs && { deadlineMs }) }).whoAmI(never);

    const gone = await startProviderServer(() => ({}));
    await gone.close();
    const down = await whoAt(gone.url);
    assert.ok(down.kind === 'unavailable', provider);
    assert.match(down.message, /can't be reached/);

    under.server.hang(true);
    const late = await whoAt(under.server.url, 50);
    assert.ok(late.kind === 'unavailable');
    assert.match(late.message, /did not answer within/);

    const https = createHttpsServer(selfSigned(['localhost']), (_request, response) => response.end('{}'));
    await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
    try {
      const port = (https.address() as AddressInfo).port;
      const unknown = await whoAt(`https://localhost:${port}`);
      assert.ok(unknown.kind === 'certificate', unknown.kind);
      assert.match(unknown.message, /NODE_EXTRA_CA_CERTS/);
    } finally {
      https.close();
    }
  },

  'rejects when whoever asked has gone': async (under) => {
    const leaving = new AbortController();
    under.server.hang(true);
    const asked = under.ask().whoAmI(leaving.signal);
    leaving.abort(new Error('gone'));
    await assert.rejects(asked, /gone/);
    await assert.rejects(under.ask().ownPullRequests(AbortSignal.abort(new Error('gone'))), /gone/);
  },
};

/** Holds an adapter to what the port promises. */
export function testGitProvider(dialect: ProviderDialect): void {
  describe(dialect.provider, () => {
    for (const [name, fact] of Object.entries(facts)) {
      it(name, async () => {
        const server = await dialect.start();
        try {
          await fact(new Under(dialect, server));
        } finally {
          await server.close();
        }
      });
    }
  });
}
