import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NO_SANDBOX, startConversations, type TestConversations } from '../../test/support/conversations.ts';
import { ServiceError } from '../errors.ts';
import { eventually } from '../../test/support/eventually.ts';
import { inertAction, stateChanged, userCommand } from '../events/build.ts';
import { type Event, isAction } from '../events/event.ts';
import { ConversationGone } from '../events/log.ts';

const command = (text: string) => userCommand({ command: text, hidden: false });
const answersTo = (events: readonly Event[], text: string): string[] => {
  const asked = events.find((event) => 'action' in event && event.message.endsWith(`: ${text}`));
  return events.flatMap((event) =>
    'observation' in event && event.cause !== undefined && event.cause === asked?.id ? [event.content] : [],
  );
};

describe('an action of the user', () => {
  let c: TestConversations;
  /** Waited for by who wants a sandbox, and then there is none. */
  let opening = Promise.resolve();
  before(async () => {
    const open = async () => {
      await opening;
      throw new ServiceError('sandbox_unavailable', 'There is no sandbox in this test.');
    };
    c = await startConversations({ provider: { ...NO_SANDBOX, open } });
  });
  after(() => c.close());

  /** A conversation whose agent works until it is let go. */
  async function working(id: string): Promise<() => void> {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    c.agent = async ({ journal, signal }) => {
      signal.addEventListener('abort', () => end.resolve());
      begun.resolve();
      await end.promise;
      if (signal.aborted) return { kind: 'aborted' };
      await journal.append([stateChanged('finished')]);
      return { kind: 'finished' };
    };
    await c.service.create(c.principal, { conversation_id: id, initial_user_msg: 'Work.' });
    await begun.promise;
    return end.resolve;
  }

  it('is left behind by no run: what comes after its last look is done by the next', async () => {
    const end = await working('late');
    await c.service.run(c.principal, 'late', command('mine'));
    end();
    await c.settled('late');
    assert.equal(answersTo(await c.events('late'), 'mine').length, 1);
    assert.equal((await c.service.get(c.principal, 'late')).agent_state, 'finished');
  });

  it('is one of a hundred that wait in a conversation at most; one more is refused and not stored', async () => {
    const end = await working('many');
    for (let n = 0; n < 100; n += 1) await c.service.run(c.principal, 'many', command(`mine ${n}`));
    const tooMany = c.service.run(c.principal, 'many', command('one more'));
    await assert.rejects(tooMany, { code: 'queue_full' });
    end();
    await c.settled('many');
    const events = await c.events('many');
    for (let n = 0; n < 100; n += 1) assert.equal(answersTo(events, `mine ${n}`).length, 1);
    assert.ok(!events.some(({ message }) => message.endsWith('one more')));
    await c.service.run(c.principal, 'many', command('again'));
    await c.settled('many');
    assert.equal(answersTo(await c.events('many'), 'again').length, 1);
  });

  it('is for no conversation that was removed in the meantime, and says so', async () => {
    await c.service.create(c.principal, { conversation_id: 'gone' });
    await c.settled('gone');
    c.admitWork = () => c.service.remove(c.principal, 'gone');
    await assert.rejects(c.service.run(c.principal, 'gone', command('mine')), ConversationGone);
    c.admitWork = () => Promise.resolve();
  });

  it('is still done when the agent is paused, and answered as not begun when it is stopped', async () => {
    for (const [state, said] of [
      ['paused', /There is no sandbox/],
      ['stopped', /stopped before this was begun/],
    ] as const) {
      await working(state);
      await c.service.run(c.principal, state, command('mine'));
      await c.service.changeAgentState(c.principal, state, state);
      await c.settled(state);
      const [answer, ...more] = answersTo(await c.events(state), 'mine');
      assert.deepEqual(more, []);
      assert.match(answer ?? '', said);
      assert.equal((await c.service.get(c.principal, state)).agent_state, state);
    }
  });

  it('ends the work of the agent as its own word would, and its user may go on with it', async () => {
    for (const [state, name] of [
      ['finished', 'finish'],
      ['rejected', 'reject'],
    ] as const) {
      await working(state);
      await c.service.run(c.principal, state, command('mine'));
      await c.service.end(c.principal, state, state, inertAction(name, { thought: 'enough' }));
      await c.settled(state);
      assert.equal((await c.service.get(c.principal, state)).agent_state, state);
      const events = await c.events(state);
      const [said] = events.filter((event) => isAction(event, name));
      assert.deepEqual([said?.source, said?.inert], ['user', true]);
      assert.match(answersTo(events, 'mine').join(), /before this was begun/);

      c.agent = async ({ journal }) => {
        await journal.append([stateChanged('awaiting_user_input')]);
        return { kind: 'waiting' };
      };
      await c.service.message(c.principal, state, { content: 'Go on.' });
      await c.settled(state);
      assert.equal((await c.service.get(c.principal, state)).agent_state, 'awaiting_user_input');
    }
  });

  it('is stored beside what the agent does and wakes nobody, and is refused where nothing is started', async () => {
    const end = await working('kept');
    const kept = inertAction('recall', { query: 'x' });
    await c.service.keep(c.principal, 'kept', kept);
    end();
    await c.settled('kept');
    await c.service.keep(c.principal, 'kept', kept);
    await c.settled('kept');
    const stored = (await c.events('kept')).filter(({ inert }) => inert);
    assert.deepEqual(
      stored.map(({ source }) => source),
      ['user', 'user'],
    );
    assert.equal((await c.service.get(c.principal, 'kept')).agent_state, 'finished');

    await c.service.stop(c.principal, 'kept');
    const before = await c.events('kept');
    await assert.rejects(c.service.keep(c.principal, 'kept', kept), { code: 'conflict' });
    const ended = c.service.end(c.principal, 'kept', 'finished', inertAction('finish', {}));
    await assert.rejects(ended, { code: 'conflict' });
    assert.deepEqual(await c.events('kept'), before);
  });

  it('lets no wish that the agent go on be lost that comes while it is done', async () => {
    const end = await working('woken');
    await c.service.changeAgentState(c.principal, 'woken', 'paused');
    end();
    const opened = Promise.withResolvers<void>();
    opening = opened.promise;
    await c.service.run(c.principal, 'woken', command('mine'));
    await eventually('it is begun', async () => {
      const row = await c.storage.read.conversations.find(c.principal.userId, 'woken');
      const open = await c.storage.read.openActions.of(row?.key ?? -1);
      return open.some(({ state }) => state === 'started');
    });
    c.agent = async ({ journal }) => {
      await journal.append([stateChanged('finished')]);
      return { kind: 'finished' };
    };
    await c.service.changeAgentState(c.principal, 'woken', 'running');
    opened.resolve();
    await c.settled('woken');
    assert.equal((await c.service.get(c.principal, 'woken')).agent_state, 'finished');
  });
});
