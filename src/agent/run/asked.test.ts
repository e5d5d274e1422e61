import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { assertToldAlike } from '../../../test/support/agent/prompts.ts';
import { bash, edit, finish, Stage } from '../../../test/support/agent/stage.ts';
import { ServiceError } from '../../errors.ts';
import { UNKNOWN_HERE } from '../../contract/events.ts';
import { HIDDEN } from '../../secrets/secret.ts';
import { userAction } from '../user-action.ts';
import { stateChanged, userCommand, userMessage } from '../../events/build.ts';
import { type Event, isObservation } from '../../events/event.ts';
import { decided, isActionEvent } from '../../security/confirmation.ts';
import { serveUser } from './run-agent.ts';

const SCRIPT = [
  { text: 'First look.', calls: [bash('one'), bash('two'), { name: 'nonsense', input: {} }] },
  { calls: [edit({ command: 'create', path: '/workspace/a.txt', file_text: 'a\n' }), bash('three')] },
  { calls: [{ name: 'think', input: { thought: 'hm' } }] },
  { calls: [bash('four'), finish()] },
];

/** As the service records it for a user. */
function ask({ log }: Stage, command = 'mine'): number {
  const [asked] = log.append([userCommand({ command, hidden: false })]);
  assert.ok(asked);
  log.open.set(asked.id, 'asked');
  return asked.id;
}

/** Runs to the end, with something asked for at the write of that number; a second run does what came too late. */
async function play(at: number, more: { crash?: { at: number; stored: boolean } } = {}): Promise<Stage> {
  const again = { calls: [finish('Again.')] };
  const stage = new Stage([...SCRIPT, again, again]);
  let seen = 0;
  const afterWrite = () => {
    if (seen++ === at) ask(stage);
  };
  const first = stage.run({ journal: new FakeJournal(stage.log, { afterWrite, ...more }) });
  if (more.crash) {
    await assert.rejects(first, Crash);
    await stage.run();
  } else {
    assert.deepEqual(await first, { kind: 'finished' });
  }
  if (stage.log.open.size > 0) assert.equal(await serveUser(stage.context()), true);
  return stage;
}

const answerOf = ({ log }: Stage, id: number): Event => {
  const [answer, ...more] = log.answersTo(id);
  assert.ok(answer && more.length === 0, `action ${id} has one answer`);
  return answer;
};
const mineIn = ({ log }: Stage) =>
  log.events.find((event) => 'action' in event && event.action === 'run' && event.source === 'user');

const whole = new Stage(SCRIPT);
const counting = new FakeJournal(whole.log);
await whole.run({ journal: counting });
const { writes } = counting;

describe('what a user asks for while the agent works', () => {
  for (let at = 0; at < writes; at += 1) {
    it(`is done once, between two steps, when it comes with write ${at}`, async () => {
      const stage = await play(at);
      const asked = mineIn(stage);
      assert.ok(asked);
      const answer = answerOf(stage, asked.id);
      assert.ok(isObservation(answer, 'run'));
      assert.equal(stage.sandbox.commands.filter((command) => command === 'mine').length, 1);
      for (const { id } of stage.log.actions().filter((event) => event.tool_call_metadata)) {
        const between = id < answer.id && answer.id < answerOf(stage, id).id;
        assert.ok(!between, `it stands between action ${id} and its observation`);
      }
      assert.equal(stage.log.iterations, SCRIPT.length, 'it is no step');
      assert.equal(stage.log.open.size, 0);
    });

    it(`is known to the agent at its next step, and to a later run, when it comes with write ${at}`, async () => {
      const stage = await play(at);
      stage.log.append([userMessage('One more thing.')]);
      assert.deepEqual(await stage.run(), { kind: 'finished' });
      assert.equal(assertToldAlike(stage).split('$ mine').length, 2);
    });
  }

  for (const stored of [false, true]) {
    for (let at = 3; at < writes; at += 1) {
      it(`is neither lost nor repeated by a crash ${stored ? 'after' : 'at'} write ${at}`, async () => {
        const stage = await play(2, { crash: { at, stored } });
        const asked = mineIn(stage);
        assert.ok(asked);
        const answer = answerOf(stage, asked.id);
        const ran = stage.sandbox.commands.filter((command) => command === 'mine').length;
        const known = isObservation(answer, 'run');
        assert.ok(ran === 1 || (ran === 0 && !known), `it ran ${ran} times`);
        if (!known) assert.match('content' in answer ? answer.content : '', /outcome is not known/);
        assert.equal(stage.log.open.size, 0);
      });
    }
  }

  it('waits for the decision on what the agent is not to do without one, and for what follows it', async () => {
    const stage = new Stage([{ calls: [bash('sudo one'), bash('two')] }, { calls: [finish()] }]);
    const mode = { confirmationMode: true, securityAnalyzer: 'rules' } as const;
    assert.deepEqual(await stage.run(mode), { kind: 'waiting' });
    const mine = ask(stage);
    assert.equal(await serveUser(stage.context(mode)), true);
    assert.deepEqual(stage.sandbox.commands, []);
    const [waits] = [...stage.log.open].find(([, state]) => state === 'awaiting') ?? [];
    assert.ok(waits !== undefined);
    const question = stage.log.get(waits);
    assert.ok(isActionEvent(question));
    const again = stage.log.append([stateChanged('user_confirmed'), decided(question, 'confirmed')]).at(-1);
    assert.ok(again);
    stage.log.open.delete(waits);
    stage.log.open.set(again.id, 'recorded');
    assert.deepEqual(await stage.run(mode), { kind: 'finished' });
    assert.deepEqual(stage.sandbox.commands, ['sudo one', 'two', 'mine']);
    assert.ok(answerOf(stage, again.id).id < answerOf(stage, mine).id);
  });

  it('comes after what its user said first, which stays the first thing that the agent is told', async () => {
    const stage = new Stage([[{ text: 'Solvable: yes' }, { calls: [finish()] }]]);
    const mine = ask(stage);
    const issue = { number: 1, title: 'It fails' };
    assert.deepEqual(await stage.run({ issue }), { kind: 'finished' });
    assert.ok(isObservation(answerOf(stage, mine), 'run'));
    const told = JSON.stringify(stage.model.prompts[1]);
    assert.match(told, /Do it\..*\$ mine.*Estimate/s);
  });

  it('is answered when there is no sandbox for it, and the agent is told so, too', async () => {
    const stage = new Stage([{ calls: [finish()] }]);
    const [first, second] = [ask(stage), ask(stage, 'mine, too')];
    let tried = 0;
    const sandbox = () => {
      tried += 1;
      return Promise.reject(new ServiceError('sandbox_unavailable', 'There is no room for it.'));
    };
    assert.deepEqual(await stage.run({ sandbox }), { kind: 'finished' });
    for (const id of [first, second]) {
      const answer = answerOf(stage, id);
      assert.ok(isObservation(answer, 'error') && answer.content.includes('There is no room for it.'));
    }
    assert.equal(tried, 1);
  });
});

describe('what a user asks for by a name of V0', () => {
  /** As the service records it, with what the tools understand of it. */
  function send(stage: Stage, name: string, args: Record<string, unknown>): number {
    const understood = userAction(name, args);
    assert.ok(understood.ok, JSON.stringify(understood));
    const [asked] = stage.log.append([understood.action]);
    assert.ok(asked);
    stage.log.open.set(asked.id, 'asked');
    return asked.id;
  }
  const promptsOf = (stage: Stage) => JSON.stringify(stage.model.prompts.at(-1));

  it('and no tool here does is answered with what to send instead, and told to the agent', async () => {
    for (const name of UNKNOWN_HERE) {
      const stage = new Stage([{ calls: [finish()] }]);
      const id = send(stage, name, { code: 'print("mine")', long: 'x'.repeat(10_000), agent_state: {} });
      // Nothing is done, so that a crash meanwhile leaves no doubt of it.
      const starts = new FakeJournal(stage.log);
      starts.start = () => assert.fail('it was begun');
      assert.deepEqual(await stage.run({ journal: starts }), { kind: 'finished' });
      const answer = answerOf(stage, id);
      assert.ok(isObservation(answer, 'error'));
      assert.match(answer.content, /send|sent/i, name);
      const told = promptsOf(stage);
      assert.match(told, new RegExp(`The user sent the action ${name}, which no tool here does`));
      assert.match(told, /print\(/);
      assert.ok(told.length < 20_000, 'its arguments are cut');
    }
  });

  it('writes a whole file, whatever was there', async () => {
    const stage = new Stage([{ calls: [finish()] }]);
    stage.sandbox.files.put('/workspace/a.txt', 'before');
    const write = { path: '/workspace/a.txt', content: 'after\n' };
    const id = send(stage, 'write', { ...write, start: 0, end: -1, thought: 'x' });
    const hidden = send(stage, 'write', { ...write, content: HIDDEN });
    const outside = send(stage, 'write', { ...write, path: '/etc/passwd' });
    const large = send(stage, 'write', { ...write, content: 'x'.repeat(2 * 1024 * 1024 + 1) });
    await stage.run();
    const answer = answerOf(stage, id);
    assert.ok(isObservation(answer, 'write'));
    assert.deepEqual(answer.extras, { path: '/workspace/a.txt' });
    assert.equal(stage.sandbox.files.text('/workspace/a.txt'), 'after\n');
    for (const refused of [hidden, outside, large])
      assert.ok(isObservation(answerOf(stage, refused), 'error'));
    assert.match(promptsOf(stage), /Writing file: \/workspace\/a\.txt/);
  });

  it('is not taken when it does not say what is to be written where', () => {
    for (const args of [
      {},
      { path: '/workspace/a' },
      { path: 'a', content: '' },
      { path: '/workspace/a\0', content: '' },
      { path: '/workspace/a', content: 1 },
      { path: '/workspace/a', content: '', start: 3 },
      { path: '/workspace/a', content: '', end: 4 },
    ]) {
      assert.equal(userAction('write', args).ok, false, JSON.stringify(args));
    }
    assert.equal(userAction('no_such_action', {}).ok, false);
  });
});

describe('what a user asks for while the agent rests', () => {
  it('is done in its order, without a word to the model and with the state as it was', async () => {
    const stage = new Stage(SCRIPT);
    await stage.run();
    const before = [
      stage.model.prompts.length,
      stage.story().filter((one) => one.startsWith('state')).length,
    ];
    ask(stage);
    ask(stage, 'mine, too');
    assert.equal(await serveUser(stage.context()), true);
    assert.deepEqual(stage.sandbox.commands.slice(-2), ['mine', 'mine, too']);
    const states = stage.story().filter((one) => one.startsWith('state')).length;
    assert.deepEqual([stage.model.prompts.length, states], before);
  });

  it('leaves the first message what it is: with it goes what the agent is to know of its place', async () => {
    const stage = new Stage([{ calls: [finish()] }], null);
    ask(stage);
    await serveUser(stage.context());
    stage.log.append([userMessage('Now you.')]);
    await stage.run();
    const recall = stage.log.events.find((event) => 'action' in event && event.action === 'recall');
    assert.ok(recall && 'action' in recall && recall.action === 'recall');
    assert.equal(recall.args.recall_type, 'workspace_context');
  });

  it('is not begun any more once the signal says so', async () => {
    const stage = new Stage(SCRIPT);
    ask(stage);
    stage.abort.abort(new Error('stopped'));
    assert.equal(await serveUser(stage.context()), false);
    assert.deepEqual(stage.sandbox.commands, []);
    assert.deepEqual([...stage.log.open.values()], ['asked']);
  });
});
