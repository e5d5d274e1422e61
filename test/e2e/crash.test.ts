import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { eventually } from '../support/eventually.ts';
import { startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { call, calls, gate, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

/** Of a log that nothing was lost from and nothing done twice in. */
function assertWhole(events: readonly Event[]): void {
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index),
    'ids have no gap',
  );
  for (const event of events) {
    if (!isAction(event, 'run') && !isAction(event, 'edit') && !isAction(event, 'read')) continue;
    const answers = events.filter((other) => 'observation' in other && other.cause === event.id);
    assert.equal(answers.length, 1, `action ${event.id} has one answer`);
  }
}

const commands = (events: readonly Event[]): string[] =>
  events.flatMap((event) => (isAction(event, 'run') ? [event.args.command] : []));

describe('kill -9 of the service', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;

  before(async () => {
    forge = await startForge({ 'acme/app': { files: { 'a.txt': 'one\n' } } });
    model = await startModelServer();
    parley = await startParley();
    await storeModel(parley, model);
    await storeGitToken(parley, forge);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  it('while the model answers: the step is asked for again, what was done is not', async () => {
    model.play(
      byTurn([
        call('execute_bash', { command: 'echo once >> /workspace/count' }),
        gate('answer', call('execute_bash', { command: 'cat /workspace/count' })),
        call('finish', { message: 'done' }),
      ]),
    );
    const from = model.requests.length;
    await parley.ok('POST', '/api/conversations', { conversation_id: 'model', initial_user_msg: 'count' });
    await model.until((requests) => requests.length === from + 2);
    await parley.crash();
    await parley.start();
    model.open('answer');
    await parley.until('model', ({ agent_state }) => agent_state === 'finished');
    const events = await parley.events('model');
    assertWhole(events);
    assert.deepEqual(commands(events), ['echo once >> /workspace/count', 'cat /workspace/count']);
    assert.equal(events.findLast((event) => isObservation(event, 'run'))?.content.trim(), 'once');
  });

  it('while a command runs: it is not run again, its outcome is said to be unknown, nothing of it is left', async () => {
    model.play(
      byTurn([
        calls([
          { name: 'execute_bash', input: { command: 'echo began >> /workspace/count; sleep 1000.5' } },
          { name: 'execute_bash', input: { command: 'echo second >> /workspace/count' } },
        ]),
        call('execute_bash', { command: "cat /workspace/count; ps aux | grep -c '[s]leep 1000.5'" }),
        call('finish', { message: 'done' }),
      ]),
    );
    await parley.ok('POST', '/api/conversations', { conversation_id: 'command', initial_user_msg: 'run' });
    const began = await parley.untilEvents('command', (events) => commands(events).length === 2);
    const first = began.find((event) => isAction(event, 'run'));
    // The command has begun when the file is there; the log only says that it was about to.
    await eventually('the file of the first command', async () => {
      const file = await parley.request('GET', '/api/conversations/command/select-file?file=count');
      return isDeepStrictEqual(file.body, { code: 'began\n' });
    });
    await parley.crash();
    await parley.start();
    await parley.until('command', ({ agent_state }) => agent_state === 'finished');
    const events = await parley.events('command');
    assertWhole(events);
    const answer = events.find((event) => 'observation' in event && event.cause === first?.id);
    assert.ok(answer && isObservation(answer, 'error'), 'the first command has no outcome');
    assert.match(answer.content, /not known/);
    const seen = events.findLast((event) => isObservation(event, 'run'));
    assert.equal(seen?.content.trim(), 'began\nsecond\n0');
  });

  it('while the repository is cloned: it is cloned again', async () => {
    model.play(
      byTurn([
        // Not sooner: a command that a late crash meets has no outcome.
        gate('cloned', call('execute_bash', { command: 'cat a.txt; git status --short --branch' })),
        say('done'),
      ]),
    );
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'clone',
      repository: 'acme/app',
      initial_user_msg: 'look',
    });
    await parley.until(
      'clone',
      (view) => view.runtime_status === 'STATUS$SETTING_UP_WORKSPACE' || view.status === 'RUNNING',
    );
    await parley.crash();
    await parley.start();
    model.open('cloned');
    await parley.until('clone', ({ agent_state }) => agent_state === 'awaiting_user_input');
    const events = await parley.events('clone');
    assertWhole(events);
    const seen = events.findLast((event) => isObservation(event, 'run'));
    assert.equal(seen?.content.trim(), 'one\n## parley-clone');
  });

  it('between two messages: both are there, and both are answered', async () => {
    model.play(byTurn([gate('first', say('one')), say('two'), say('three')]));
    await parley.ok('POST', '/api/conversations', { conversation_id: 'talk', initial_user_msg: 'first' });
    await parley.ok('POST', '/api/conversations/talk/message', { message: 'second' });
    await parley.crash();
    model.open('first');
    await parley.start();
    await parley.ok('POST', '/api/conversations/talk/message', { message: 'third' });
    const texts = (events: Event[]): string[] =>
      events.flatMap((event) =>
        isAction(event, 'message') && event.source === 'user' ? [event.args.content] : [],
      );
    const events = await parley.untilEvents('talk', (now) => {
      const last = now.findLastIndex((event) => isAction(event, 'message') && event.source === 'user');
      return now.slice(last).some((event) => isAction(event, 'message') && event.source === 'agent');
    });
    assertWhole(events);
    assert.deepEqual(texts(events), ['first', 'second', 'third']);
  });

  it('keeps the workspace and the shell as they were', async () => {
    model.play(
      byTurn([
        call('execute_bash', {
          command: 'mkdir -p deep/er && cd deep/er && export KEPT=yes && echo x > file',
        }),
        say('left'),
        call('execute_bash', { command: 'pwd; echo $KEPT; cat file' }),
        say('back'),
      ]),
    );
    await parley.ok('POST', '/api/conversations', { conversation_id: 'shell', initial_user_msg: 'go' });
    await parley.until('shell', ({ agent_state }) => agent_state === 'awaiting_user_input');
    await parley.crash();
    await parley.start();
    await parley.ok('POST', '/api/conversations/shell/message', { message: 'come back' });
    const events = await parley.untilEvents('shell', (now) =>
      now.some((event) => isAction(event, 'message') && event.args.content === 'back'),
    );
    const seen = events.findLast((event) => isObservation(event, 'run'));
    assert.equal(seen?.content.trim(), '/workspace/deep/er\nyes\nx');
  });
});
