import assert from 'node:assert/strict';
import { test } from 'node:test';

import { userMessage } from '../../events/build.ts';
import type { Event } from '../../events/event.ts';
import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { assertToldAlike } from '../../../test/support/agent/prompts.ts';
import { bash, edit, finish, Stage } from '../../../test/support/agent/stage.ts';

const SCRIPT = [
  { text: 'First look.', calls: [bash('one'), bash('two'), { name: 'nonsense', input: {} }] },
  { calls: [edit({ command: 'create', path: '/workspace/a.txt', file_text: 'a\n' }), bash('three')] },
  {
    calls: [
      { name: 'execute_bash', input: '{"command": "tor' },
      { name: 'think', input: { thought: 'hm' } },
    ],
  },
  { calls: [bash('four'), finish()] },
];

async function wholeRun(): Promise<{ writes: number; stage: Stage }> {
  const stage = new Stage(SCRIPT);
  const journal = new FakeJournal(stage.log);
  assert.deepEqual(await stage.run({ journal }), { kind: 'finished' });
  return { writes: journal.writes, stage };
}

function unknown(events: readonly Event[]): number {
  return events.filter((event) => 'observation' in event && event.content.includes('outcome is not known'))
    .length;
}

const { writes } = await wholeRun();

for (const stored of [false, true]) {
  for (let at = 0; at < writes; at += 1) {
    test(`a crash ${stored ? 'after' : 'at'} write ${at} loses nothing, repeats nothing, and ends the same`, async () => {
      const stage = new Stage(SCRIPT);
      const journal = new FakeJournal(stage.log, { crash: { at, stored } });
      await assert.rejects(stage.run({ journal }), Crash);
      assert.deepEqual(await stage.run(), { kind: 'finished' });

      assert.equal(stage.log.open.size, 0);
      for (const action of stage.log.actions()) {
        const wants = 'tool_call_metadata' in action && action.tool_call_metadata !== undefined;
        assert.equal(stage.log.answersTo(action.id).length, wants ? 1 : 0, `answers to ${action.id}`);
      }
      const commands = stage.sandbox.commands;
      assert.equal(new Set(commands).size, commands.length, 'no command ran twice');
      assert.deepEqual(
        stage.log
          .actions()
          .flatMap((event) => ('action' in event && event.action === 'run' ? [event.args.command] : [])),
        ['one', 'two', 'three', 'four'],
      );
      assert.ok(unknown(stage.log.events) <= 1);
      assert.ok(commands.length + unknown(stage.log.events) >= 4);
    });

    test(`after a crash ${stored ? 'after' : 'at'} write ${at} the model is told what the log says`, async () => {
      const stage = new Stage(SCRIPT);
      const journal = new FakeJournal(stage.log, { crash: { at, stored } });
      await assert.rejects(stage.run({ journal }), Crash);
      await stage.run();
      assertToldAlike(stage);
    });
  }
}

for (let at = 0; at < writes; at += 1) {
  test(`a message that comes with write ${at} is told once, where the model had not yet seen it`, async () => {
    const again = { calls: [finish('Again.')] };
    const stage = new Stage([...SCRIPT, again, again]);
    let seen = 0;
    const afterWrite = () => {
      if (seen++ === at) stage.log.append([userMessage('By the way.')]);
    };
    assert.deepEqual(await stage.run({ journal: new FakeJournal(stage.log, { afterWrite }) }), {
      kind: 'finished',
    });
    // A new run has nothing but the log.
    stage.log.append([userMessage('One more thing.')]);
    assert.deepEqual(await stage.run(), { kind: 'finished' });
    assert.equal(assertToldAlike(stage).split('By the way.').length, 2);
    assert.equal(stage.log.open.size, 0);
  });
}

test('a secret that the model writes is hidden before it is done, and the model is told what is stored', async () => {
  const secret = 'hunter2hunter2';
  const stage = new Stage([
    {
      text: `I saw ${secret}.`,
      calls: [bash(`echo ${secret}`), edit({ command: 'create', path: '/workspace/a', file_text: secret })],
    },
    { calls: [finish()] },
  ]);
  stage.sandbox.exec_ = () => ({ output: `the key is ${secret}` });
  const redact = (text: string) => text.replaceAll(secret, '<secret_hidden>');
  const journal = new FakeJournal(stage.log, { redact });
  await stage.run({ journal, instructions: `My key is ${secret}.` });
  assert.deepEqual(stage.sandbox.commands, ['echo <secret_hidden>']);
  assert.equal(stage.sandbox.files.content.size, 0);
  assert.doesNotMatch(JSON.stringify([stage.model.prompts, stage.log.events]), /hunter2/);
});

test('an action that waits for its user still waits after a crash', async () => {
  const stage = new Stage(SCRIPT);
  await assert.rejects(
    stage.run({ journal: new FakeJournal(stage.log, { crash: { at: 3, stored: false } }) }),
    Crash,
  );
  const [id] = stage.log.open.keys();
  assert.ok(id !== undefined);
  stage.log.open.set(id, 'awaiting');
  const before = stage.log.events.length;
  assert.deepEqual(await stage.run(), { kind: 'waiting' });
  assert.equal(stage.log.events.length, before);
  assert.equal(stage.log.open.get(id), 'awaiting');
});

test('a run whose place another one took writes nothing and says it was aborted', async () => {
  for (let fencedAt = 0; fencedAt < writes; fencedAt += 1) {
    const stage = new Stage(SCRIPT);
    assert.deepEqual(await stage.run({ journal: new FakeJournal(stage.log, { fencedAt }) }), {
      kind: 'aborted',
    });
  }
});
