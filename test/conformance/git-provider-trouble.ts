import assert from 'node:assert/strict';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { selfSigned } from '../support/certificate.ts';
import { type Given, startProviderServer } from '../support/git/providers/server.ts';
import { PULL_REQUEST, TOKENS } from '../support/git/providers/world.ts';
import { type Fact, ISSUE_QUESTIONS, never, QUESTIONS, questionsOf } from './git-provider-under.ts';

/** What comes of a provider that fails, lies, or is not there. */
export const troubleFacts: Readonly<Record<string, Fact>> = {
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
      { status: 204 },
      { status: 205, body: '' },
      { headers: { 'content-type': 'text/html; charset="' }, body: '<html>' },
    ];
    for (const given of bodies) {
      under.server.answerAll(given);
      for (const [index, ask] of questionsOf(under.dialect).entries()) {
        const { kind } = await ask(under.ask(), under.name('acme/app'));
        assert.notEqual(kind, 'ok', `question ${index}: ${String(given.body).slice(0, 20)}`);
      }
    }
  },

  'reads no answer that is too large to its end': async (under) => {
    under.server.answerAll({ body: `"${'x'.repeat(5 * 1024 * 1024)}"` });
    for (const ask of [QUESTIONS['whoAmI'], QUESTIONS['repository'], QUESTIONS['file']]) {
      assert.equal((await ask?.(under.ask(), under.name('acme/app')))?.kind, 'too_large');
    }
  },

  'says of an answer that breaks off that it did, not that nobody answered': async (under) => {
    under.server.answerAll({ headers: { 'content-encoding': 'gzip' }, body: 'not packed' });
    for (const ask of questionsOf(under.dialect)) {
      const answer = await ask(under.ask(), under.name('acme/app'));
      assert.ok(answer.kind === 'unavailable');
      assert.match(answer.message, /began an answer that could not be read to its end \(Z_DATA_ERROR\)/);
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
    under.server.answerAll({
      status: 403,
      headers: { 'x-accepted-oauth-scopes': `repo, ${TOKENS.good}` },
      body: { message: TOKENS.good, scope: `api ${TOKENS.good}` },
    });
    for (const ask of questionsOf(under.dialect)) {
      assert.ok(!JSON.stringify(await ask(under.ask(), under.name('acme/app'))).includes(TOKENS.good));
    }
  },

  'says of a write that failed that it may be done, if it was sent and no answer says that it is not': async (
    under,
  ) => {
    const { server, dialect } = under;
    const writes = [
      QUESTIONS['addPullRequestComment'],
      QUESTIONS['openPullRequest'],
      ISSUE_QUESTIONS['addIssueComment'],
    ];
    for (const [given, isAnswered] of [
      [{ status: 503 }, false],
      [{ body: 'no JSON' }, false],
      [{ status: 422, body: { message: 'No' } }, true],
    ] as const) {
      server.answerAll(given);
      for (const write of writes) {
        server.asked.length = 0;
        const answer = await write?.(under.ask(), under.name('acme/app'));
        assert.ok(answer && answer.kind !== 'ok');
        const wasSent = server.asked.some(({ method }) => method === 'POST');
        assert.equal(answer.mayBeDone ?? false, wasSent && !isAnswered, `${dialect.provider} ${answer.kind}`);
      }
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
      assert.ok(request.headers.get('authorization'));
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
    for (const owner of ['..', '../user', 'acme/../..', '']) {
      await of.repositories({ page: 1, perPage: 1, sort: 'pushed', owner }, never);
    }
    for (const path of ['../../../user', 'a/../../b', '..', 'a//b', './x']) {
      assert.notEqual((await of.file(under.name('acme/app'), path, null, never)).kind, 'ok', path);
      assert.notEqual((await of.folder(under.name('acme/app'), path, null, never)).kind, 'ok', path);
    }
    for (const { path } of under.server.asked) {
      assert.ok(!/(^|\/)\.{0,2}(\/|$)/.test(decodeURIComponent(path).slice(1)), path);
      assert.ok(
        under.dialect.apis.some((api) => path.startsWith(api)),
        path,
      );
    }
  },

  'says that the host is down, speaks something else, does not answer, or shows an unknown certificate':
    async (under) => {
      const { provider } = under.dialect;
      const path = under.dialect.path;
      const whoAt = (host: string, deadlineMs?: number) =>
        under.ask(TOKENS.good, { host: host + path, ...(deadlineMs && { deadlineMs }) }).whoAmI(never);

      const gone = await startProviderServer(() => ({}));
      await gone.close();
      const down = await whoAt(gone.url);
      assert.ok(down.kind === 'unavailable', provider);
      assert.match(down.message, /can't be reached/);

      const ssh = createServer((socket) =>
        socket
          .on('error', () => {})
          .resume()
          .end('SSH-2.0-OpenSSH_9.9\r\n'),
      );
      await new Promise<void>((resolve) => ssh.listen(0, '127.0.0.1', resolve));
      try {
        const other = await whoAt(`http://127.0.0.1:${(ssh.address() as AddressInfo).port}`);
        assert.ok(other.kind === 'unavailable');
        assert.match(other.message, /gave no answer that can be read/);
        const plain = await whoAt(`https://127.0.0.1:${(ssh.address() as AddressInfo).port}`);
        assert.ok(plain.kind === 'unavailable');
        assert.match(plain.message, /does not speak HTTPS .*http:\/\//);
      } finally {
        ssh.close();
      }

      under.server.hang(true);
      const late = await whoAt(under.server.url, 50);
      assert.ok(late.kind === 'unavailable');
      assert.match(late.message, /did not answer within/);

      const of = under.ask(TOKENS.good, { deadlineMs: 50 });
      const lost = await of.addPullRequestComment(under.name('acme/app'), PULL_REQUEST.number, 'Done', never);
      assert.ok(lost.kind === 'unavailable');
      assert.equal(lost.mayBeDone, true);
      const unread = await of.pullRequest(under.name('acme/app'), PULL_REQUEST.number, never);
      assert.ok(unread.kind === 'unavailable');
      assert.equal(unread.mayBeDone, undefined);

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
