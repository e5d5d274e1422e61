import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../../src/events/event.ts';
import { call, say } from '../../support/model/answers.ts';
import { byTurn } from '../../support/model/script.ts';
import { type ModelServer, startModelServer } from '../../support/model/server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { storeModel } from '../../support/stored.ts';

/** Takes memory piece by piece until it is stopped; the last number written is how much it had, in MiB. */
const HOARD = `perl -e '$| = 1; open(my $f, ">", "/workspace/had"); select($f); $| = 1;
for (1 .. 100) { push @x, chr(65 + $_ % 26) x (8 << 20); print $_ * 8, "\\n"; select(undef, undef, undef, 0.1) }'`;

/**
 * Keeps one processor busy and looks at its share of it every half second: \`more\` as soon as it is above 0.2, \`less\`
 * when it never is in the number of looks. A machine that is busy gives less for a while, but a limit is never passed.
 */
const HOG = (looks: number): string => `perl -MTime::HiRes=time -e 'for (1 .. ${looks}) {
  my ($t, @c) = (time, times); 1 while time - $t < 0.5; my @d = times;
  if (($d[0] + $d[1] - $c[0] - $c[1]) / (time - $t) > 0.2) { print "more"; exit } } print "less"'`;

describe('remote_runtime_resource_factor', () => {
  let model: ModelServer;
  let parley: Parley;
  before(async () => {
    model = await startModelServer();
    parley = await startParley({ PARLEY_SANDBOX_MEMORY: '64M', PARLEY_SANDBOX_CPUS: '0.1' });
    await storeModel(parley, model);
  });
  after(async () => {
    await parley.close();
    await model.close();
  });

  const ran = async (id: string, factor: number | null, command: string): Promise<string> => {
    await parley.ok('PATCH', '/api/settings', { remote_runtime_resource_factor: factor });
    model.play(byTurn([call('execute_bash', { command }), say('Done.')]));
    await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'Go.' });
    await parley.until(id, ({ agent_state }) => agent_state === 'awaiting_user_input', 120_000);
    return (await parley.events(id)).find((event) => isObservation(event, 'run'))?.content ?? '';
  };

  for (const [factor, megabytes] of [
    [null, 64],
    [4, 256],
  ] as const) {
    it(`multiplies the memory of a sandbox: ${factor ?? 'not set'}`, async () => {
      const said = await ran(`memory-${megabytes}`, factor, HOARD);
      assert.match(said, new RegExp(`memory.*${megabytes} MiB`));
      const file = await parley.ok('GET', `/api/conversations/memory-${megabytes}/select-file?file=had`);
      const had = Number((file as { code: string }).code.trim().split('\n').at(-1));
      // What the shell itself takes is not the hoard's.
      assert.ok(had > megabytes / 4, `${had} MiB`);
    });
  }

  it('multiplies the processors of a sandbox', async () => {
    const { sandbox } = (await parley.ok('GET', '/server_info')) as {
      sandbox: { limits: { cpu: string } };
    };
    // Where nothing on the machine can hold processor time, docs/platforms.md says so.
    const [one, looks] = sandbox.limits.cpu === 'none' ? (['more', 200] as const) : (['less', 6] as const);
    assert.equal((await ran('cpu-1', 1, HOG(looks))).trim(), one);
    assert.equal((await ran('cpu-8', 8, HOG(200))).trim(), 'more');
  });
});
