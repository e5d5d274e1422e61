import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Crash, FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { bash, finish, Stage } from '../../../test/support/agent/stage.ts';
import { stateChanged } from '../../events/build.ts';
import { decided, isActionEvent } from '../../security/confirmation.ts';

const MODE = { confirmationMode: true, securityAnalyzer: 'rules' } as const;
const SCRIPT = [
  {
    text: 'First.',
    calls: [
      bash('echo one'),
      bash('sudo two'),
      { name: 'nonsense', input: {} },
      bash('sudo three'),
      bash('echo four'),
    ],
  },
  { calls: [bash('sudo five'), finish()] },
];
const COMMANDS = ['echo one', 'sudo two', 'sudo three', 'echo four', 'sudo five'];

/** As the service does it for a user. */
function confirm({ log }: Stage): void {
  const [id] = [...log.open].find(([, state]) => state === 'awaiting') ?? [];
  assert.ok(id !== undefined, 'an action waits');
  const asked = log.get(id);
  assert.ok(isActionEvent(asked));
  const again = log.append([stateChanged('user_confirmed'), decided(asked, 'confirmed')]).at(-1);
  assert.ok(again);
  log.open.delete(id);
  log.open.set(again.id, 'recorded');
}

/** Runs to the end with everything confirmed, and dies once: at the write of that number of all. */
async function play(stage: Stage, at = Number.POSITIVE_INFINITY, stored = false): Promise<number> {
  let writes = 0;
  for (;;) {
    const crash = writes <= at ? { crash: { at: at - writes, stored } } : {};
    const journal = new FakeJournal(stage.log, crash);
    try {
      const outcome = await stage.run({ journal, ...MODE });
      writes += journal.writes;
      if (outcome.kind === 'finished') return writes;
      assert.equal(outcome.kind, 'waiting');
      const waits = [...stage.log.open]
        .filter(([, state]) => state === 'awaiting')
        .map(([id]) => stage.log.get(id));
      assert.equal(waits.length, 1);
      assert.equal(stage.log.open.size, 1, 'nothing else is open while one waits');
      assert.equal(stage.log.actions().at(-1)?.id, waits[0]?.id, 'what waits is the newest action');
      confirm(stage);
    } catch (error) {
      assert.ok(error instanceof Crash);
      writes = at + 1;
    }
  }
}

describe('actions that wait for their user', async () => {
  const whole = new Stage(SCRIPT);
  const writes = await play(whole);

  it('are done in the order of their answer, of which the model is asked once', () => {
    assert.deepEqual(whole.sandbox.commands, COMMANDS);
    assert.equal(whole.model.prompts.length, 2);
    assert.equal(whole.log.iterations, 2);
    const tools = whole.model.prompts[1]?.find(({ role }) => role === 'tool')?.content;
    assert.equal(tools?.length, 5);
  });

  for (const stored of [false, true]) {
    for (let at = 0; at < writes; at += 1) {
      it(`survive a crash ${stored ? 'after' : 'at'} write ${at}: nothing is done twice, nothing is forgotten`, async () => {
        const stage = new Stage(SCRIPT);
        await play(stage, at, stored);
        assert.equal(stage.log.open.size, 0);
        const { commands } = stage.sandbox;
        assert.equal(new Set(commands).size, commands.length);
        const unknown = stage.log.events.filter(
          (event) => 'observation' in event && event.content.includes('outcome is not known'),
        ).length;
        assert.ok(unknown <= 1 && commands.length + unknown >= COMMANDS.length);
      });
    }
  }
});
