import assert from 'node:assert/strict';
import { test } from 'node:test';

import { userMessage } from '../../events/build.ts';
import { isAction } from '../../events/event.ts';
import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { Stage } from '../../../test/support/agent/stage.ts';

const agent = 'DummyAgent' as const;

function lastWord(stage: Stage): string {
  const event = stage.log.events.findLast((entry) => isAction(entry, 'finish'));
  assert.ok(event && isAction(event, 'finish'));
  return event.args.final_thought;
}

test('the self-check looks at sandbox, git and log without a model, and finishes', async () => {
  const stage = new Stage([]);
  assert.deepEqual(await stage.run({ agent }), { kind: 'finished' });
  assert.equal(stage.model.prompts.length, 0);
  assert.equal(stage.sandbox.commands.length, 2);
  assert.match(
    lastWord(stage),
    /^The self-check passed\.\nok {2}sandbox: .*\nok {2}git: .*\nok {2}log: \d+ events/,
  );
  assert.equal(stage.log.open.size, 0);
});

test('the self-check looks at the repository when there is one, and says what fails', async () => {
  const stage = new Stage([]);
  stage.sandbox.exec_ = (command) =>
    command.startsWith('git status') ? { output: 'not a repository', exitCode: 128 } : { output: 'fine' };
  await stage.run({ agent, repository: { name: 'o/r', directory: 'r', branch: 'main' } });
  assert.match(lastWord(stage), /^The self-check failed\.[^]*FAILED {2}repository: not a repository/);
});

test('each message has the self-check run again', async () => {
  const stage = new Stage([]);
  await stage.run({ agent });
  stage.log.append([userMessage('Again.')]);
  assert.deepEqual(await stage.run({ agent }), { kind: 'finished' });
  assert.equal(stage.sandbox.commands.length, 4);
});

test('a self-check goes on after a crash at any write, and repeats no command', async () => {
  const { writes } = await journalOf(new Stage([]));
  for (let at = 0; at < writes; at += 1) {
    const stage = new Stage([]);
    await assert.rejects(
      stage.run({ agent, journal: new FakeJournal(stage.log, { crash: { at, stored: true } }) }),
      Crash,
    );
    assert.deepEqual(await stage.run({ agent }), { kind: 'finished' });
    assert.equal(new Set(stage.sandbox.commands).size, stage.sandbox.commands.length);
    assert.equal(stage.log.open.size, 0);
  }
});

async function journalOf(stage: Stage): Promise<FakeJournal> {
  const journal = new FakeJournal(stage.log);
  await stage.run({ agent, journal });
  return journal;
}
