import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startConversations, type TestConversations } from '../../test/support/conversations.ts';
import { ServiceError } from '../errors.ts';
import { inertAction } from '../events/build.ts';
import { type StatusUpdate, WAITS_FOR_ITS_TURN } from '../live/status.ts';
import type { Subscription } from '../live/subscription.ts';
import { Secret } from '../secrets/secret.ts';
import { canonicalRequest, selectionOf, storedRequest } from './request.ts';

const messages = async (c: TestConversations, id: string): Promise<string[]> =>
  (await c.events(id)).flatMap((event) =>
    'action' in event && event.action === 'message' ? [event.args.content] : [],
  );

/** Resolves as soon as the status is told, with all that were. */
function untilTold(watching: Subscription, status: StatusUpdate): Promise<StatusUpdate[]> {
  const told: StatusUpdate[] = [];
  return new Promise((resolve, reject) => {
    const write = ({ statuses }: { statuses: readonly StatusUpdate[] }): void => {
      told.push(...statuses);
      if (told.includes(status)) resolve(told);
    };
    watching.follow({ write, hasRoom: () => true }, 1_000).catch(reject);
  });
}

describe('create or join', () => {
  let c: TestConversations;
  before(async () => {
    c = await startConversations();
    c.agent = async ({ journal }) => {
      await journal.read(0, 1000);
      return { kind: 'finished' };
    };
  });
  after(() => c.close());

  it('appends nothing when the same request comes again, and starts what was stopped', async () => {
    const body = { conversation_id: 'same', initial_user_msg: 'hello', image_urls: [] };
    await c.service.create(c.principal, body);
    await c.service.create(c.principal, {
      conversation_id: 'same',
      initial_user_msg: 'hello',
      repository: '',
    });
    await c.settled('same');
    assert.deepEqual(await messages(c, 'same'), ['hello']);
    await c.service.stop(c.principal, 'same');
    const again = await c.service.create(c.principal, body);
    assert.equal(again.conversation_status, 'STARTING');
    await c.settled('same');
    assert.deepEqual(await messages(c, 'same'), ['hello']);
  });

  it('appends the message of another request with the same id, and starts what was stopped', async () => {
    await c.service.create(c.principal, { conversation_id: 'join', initial_user_msg: 'one' });
    await c.until('join', (view) => view.status === 'RUNNING');
    await c.service.stop(c.principal, 'join');
    const joined = await c.service.create(c.principal, { conversation_id: 'join', initial_user_msg: 'two' });
    assert.equal(joined.conversation_status, 'STARTING');
    assert.deepEqual(await messages(c, 'join'), ['one', 'two']);
    await c.service.create(c.principal, { conversation_id: 'join' });
    assert.deepEqual(await messages(c, 'join'), ['one', 'two']);
  });

  it('creates once for one Idempotency-Key, and anew for another', async () => {
    const one = await c.service.create(c.principal, { initial_user_msg: 'x' }, 'key-1');
    const again = await c.service.create(c.principal, { initial_user_msg: 'x' }, 'key-1');
    const other = await c.service.create(c.principal, { initial_user_msg: 'x' }, 'key-2');
    assert.equal(again.conversation_id, one.conversation_id);
    assert.notEqual(other.conversation_id, one.conversation_id);
    assert.match(one.conversation_id, /^[0-9a-f]{32}$/);
  });

  it('is once even when twenty ask at the same time', async () => {
    const body = { conversation_id: 'race', initial_user_msg: 'only once' };
    const replies = await Promise.all(Array.from({ length: 20 }, () => c.service.create(c.principal, body)));
    assert.equal(new Set(replies.map(({ conversation_id }) => conversation_id)).size, 1);
    await c.settled('race');
    assert.deepEqual(await messages(c, 'race'), ['only once']);
  });

  it('hides a live secret in the title that a user gives', async () => {
    await c.service.create(c.principal, { conversation_id: 'titled' });
    await c.service.rename(c.principal, 'titled', 'why a-live-secret fails');
    assert.equal((await c.service.get(c.principal, 'titled')).title, 'why <secret_hidden> fails');
  });

  it('shows nothing of one user to another, and lets both use the same id', async () => {
    const bob = await c.addUser('bob');
    await c.service.create(c.principal, { conversation_id: 'mine', initial_user_msg: 'private' });
    for (const ask of [
      () => c.service.get(bob, 'mine'),
      () => c.service.start(bob, 'mine'),
      () => c.service.stop(bob, 'mine'),
      () => c.service.remove(bob, 'mine'),
      () => c.service.rename(bob, 'mine', 'x'),
      () => c.service.message(bob, 'mine', { content: 'x' }),
      () => c.service.changeAgentState(bob, 'mine', 'stopped'),
      () => c.service.events(bob, 'mine', { from: 0, limit: 1, maxBytes: 1 }),
    ]) {
      await assert.rejects(ask(), { code: 'conversation_not_found' });
    }
    await c.service.create(bob, { conversation_id: 'mine', initial_user_msg: "bob's" });
    await c.settled('mine');
    assert.deepEqual(await messages(c, 'mine'), ['private']);
    const { results } = await c.service.list(bob, { limit: 100 });
    assert.equal(results.length, 1);
  });

  it('lists newest first, page after page, hiding nothing', async () => {
    const carol = await c.addUser('carol');
    for (let n = 0; n < 7; n += 1) await c.service.create(carol, { conversation_id: `c${n}` });
    const seen: string[] = [];
    let before: number | undefined;
    for (;;) {
      const page = await c.service.list(carol, { limit: 3, ...(before !== undefined && { before }) });
      seen.push(...page.results.map(({ conversation_id }) => conversation_id));
      if (page.next === null) break;
      before = page.next;
    }
    assert.deepEqual(seen, ['c6', 'c5', 'c4', 'c3', 'c2', 'c1', 'c0']);
  });
});

describe('a creation request', () => {
  it('is stored with its secrets in clear, and comes back as it was validated', () => {
    const body = {
      repository: 'acme/app',
      initial_user_msg: '',
      mcp_config: { shttp_servers: [{ url: 'https://mcp.example/x', api_key: new Secret('mcp-key-1') }] },
      conversation_id: 'not part of it',
    };
    const text = canonicalRequest(body);
    assert.equal(
      text.unwrap(),
      '{"mcp_config":{"shttp_servers":[{"api_key":"mcp-key-1","url":"https://mcp.example/x"}]},"repository":"acme/app"}',
    );
    assert.equal(storedRequest(text).mcp_config?.shttp_servers?.[0]?.api_key?.unwrap(), 'mcp-key-1');
  });

  it('comes back with the empty texts in it that say something', () => {
    const suggested_task = {
      git_provider: 'github',
      task_type: 'OPEN_PR',
      repo: 'acme/app',
      issue_number: 1,
      title: '',
    } as const;
    const program = { name: 'a', command: 'a', args: ['', '--b'] };
    const stored = storedRequest(
      canonicalRequest({ suggested_task, mcp_config: { stdio_servers: [program] } }),
    );
    assert.deepEqual(stored, { suggested_task, mcp_config: { stdio_servers: [program] } });
  });

  it('works where its task says, unless it names a repository itself', () => {
    const task = {
      git_provider: 'gitlab',
      task_type: 'OPEN_ISSUE',
      repo: 'g/p',
      issue_number: 1,
      title: 't',
    } as const;
    assert.deepEqual(selectionOf({ suggested_task: task }), {
      selectedRepository: 'g/p',
      gitProvider: 'gitlab',
      selectedBranch: null,
      trigger: 'suggested_task',
    });
    assert.equal(selectionOf({ suggested_task: task, repository: 'a/b' }).selectedRepository, 'a/b');
    assert.equal(selectionOf({ create_microagent: { repo: 'm/a' } }).trigger, 'microagent_management');
  });
});

describe('a disk that is almost full', () => {
  let c: TestConversations;
  before(async () => {
    c = await startConversations();
  });
  after(() => c.close());

  it('takes no new work, and nothing of it is stored; what runs is told what its user says', async () => {
    const looked = Promise.withResolvers<void>();
    const said = Promise.withResolvers<void>();
    c.agent = async ({ journal }) => {
      await journal.read(0, 100);
      looked.resolve();
      await said.promise;
      await journal.read(0, 100);
      return { kind: 'waiting' };
    };
    await c.service.create(c.principal, { conversation_id: 'runs', initial_user_msg: 'one' });
    await looked.promise;
    await c.service.create(c.principal, { conversation_id: 'stopped' });
    await c.service.stop(c.principal, 'stopped');
    c.admitWork = () => Promise.reject(new ServiceError('disk_almost_full', 'almost full'));

    const full = { code: 'disk_almost_full' };
    await assert.rejects(c.service.create(c.principal, { conversation_id: 'new' }), full);
    await assert.rejects(c.service.get(c.principal, 'new'), { code: 'conversation_not_found' });
    await assert.rejects(c.service.start(c.principal, 'stopped'), full);
    await assert.rejects(c.service.message(c.principal, 'stopped', { content: 'two' }), full);
    await assert.rejects(c.service.changeAgentState(c.principal, 'stopped', 'running'), full);
    assert.deepEqual(await messages(c, 'stopped'), []);
    assert.equal((await c.service.get(c.principal, 'stopped')).status, 'STOPPED');

    await c.service.message(c.principal, 'runs', { content: 'two' });
    said.resolve();
    assert.deepEqual(await messages(c, 'runs'), ['one', 'two']);
    await c.settled('runs');
  });

  it("lets its user end the agent's work", async () => {
    await c.service.end(c.principal, 'runs', 'finished', inertAction('finish', {}));
    assert.equal((await c.service.get(c.principal, 'runs')).agent_state, 'finished');
  });
});

describe('a disk that is full', () => {
  let c: TestConversations;
  before(async () => {
    c = await startConversations();
  });
  after(() => c.close());

  it('refuses to stop, pause and delete, and what runs goes on as if nobody had asked', async () => {
    const looked = Promise.withResolvers<AbortSignal>();
    const done = Promise.withResolvers<void>();
    c.agent = async ({ journal, signal }) => {
      await journal.read(0, 100);
      looked.resolve(signal);
      await done.promise;
      return { kind: 'waiting' };
    };
    await c.service.create(c.principal, { conversation_id: 'runs', initial_user_msg: 'one' });
    const signal = await looked.promise;
    c.full = true;
    const refused = { code: 'storage_unavailable' };
    await assert.rejects(c.service.stop(c.principal, 'runs'), refused);
    await assert.rejects(c.service.changeAgentState(c.principal, 'runs', 'paused'), refused);
    await assert.rejects(c.service.remove(c.principal, 'runs'), refused);
    c.full = false;
    assert.equal(signal.aborted, false);
    done.resolve();
    await c.settled('runs');
    assert.equal((await c.service.get(c.principal, 'runs')).status, 'RUNNING');
  });
});

describe('the line of those that wait for their turn', () => {
  let c: TestConversations;
  const done = Promise.withResolvers<void>();
  before(async () => {
    c = await startConversations({ limits: { perUser: 1, total: 2 } });
    c.agent = async ({ journal }) => {
      await journal.read(0, 100);
      await done.promise;
      return { kind: 'waiting' };
    };
  });
  after(() => c.close());

  it('is seen on each conversation in it, also on one that was ready before, and told to who watches', async () => {
    const queued = async (id: string) => (await c.service.get(c.principal, id)).queued;
    await c.service.create(c.principal, { conversation_id: 'ready' });
    await c.settled('ready');
    await c.service.create(c.principal, { conversation_id: 'driven', initial_user_msg: 'one' });
    await c.until('driven', (view) => view.status === 'RUNNING');
    await c.service.create(c.principal, { conversation_id: 'waits', initial_user_msg: 'two' });
    const watching = c.subscriptions.subscribe(await c.service.keyOf(c.principal, 'ready'), 1_000);
    const told = untilTold(watching, WAITS_FOR_ITS_TURN);
    assert.equal(await queued('ready'), false);
    assert.equal(await queued('driven'), false);
    assert.equal(await queued('waits'), true);
    await c.service.message(c.principal, 'ready', { content: 'three' });
    assert.equal(await queued('ready'), true);
    assert.deepEqual(await told, [WAITS_FOR_ITS_TURN]);
    watching.close();
    await c.service.stop(c.principal, 'waits');
    assert.equal(await queued('waits'), false);
  });

  it('is left by who is stopped: started again, it comes anew, and is told so', async () => {
    const watching = c.subscriptions.subscribe(await c.service.keyOf(c.principal, 'waits'), 1_000);
    const told = untilTold(watching, WAITS_FOR_ITS_TURN);
    await c.service.start(c.principal, 'waits');
    await told;
    watching.close();
    await c.service.stop(c.principal, 'waits');
  });

  it('has an end: nothing more is created, started or told to go on, but what is in it or driven is', async () => {
    const full = { code: 'queue_full', retryAfter: 60 };
    const waiting = Array.from({ length: 999 }, (_, n) => ({ conversation_id: `n${n}` }));
    await Promise.all(waiting.map((body) => c.service.create(c.principal, body)));
    await assert.rejects(c.service.create(c.principal, { conversation_id: 'new' }), full);
    await assert.rejects(c.service.start(c.principal, 'waits'), full);
    await assert.rejects(c.service.message(c.principal, 'waits', { content: 'four' }), full);
    await assert.rejects(c.service.changeAgentState(c.principal, 'waits', 'running'), full);
    assert.equal((await c.service.get(c.principal, 'waits')).status, 'STOPPED');
    assert.deepEqual(await messages(c, 'waits'), []);

    await c.service.message(c.principal, 'ready', { content: 'five' });
    await c.service.message(c.principal, 'driven', { content: 'six' });
    assert.deepEqual(await messages(c, 'ready'), ['three', 'five']);
    const bob = await c.addUser('bob');
    assert.equal((await c.service.create(bob, { conversation_id: 'new' })).conversation_status, 'STARTING');
    done.resolve();
    await c.settled('ready');
  });
});
