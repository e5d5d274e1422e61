/**
 * The real service, killed before and after every durable write of a scripted run, as docs/durability.md tells, or its
 * disk full then, or its database locked; started again with a clock that is an hour off. That is some hundred and
 * sixty runs, four minutes of two processors: `EVERY_WRITE=all` asks for them, the suite takes every eleventh.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Event, isAction, isObservation } from '../../src/events/event.ts';
import { EMPTY_PROJECTION, project } from '../../src/events/projection.ts';
import { groupsNamed, isRoot, processesWith } from '../support/bubblewrap.ts';
import { FIRST, isMine, type Left, SECOND, scriptedRun } from '../support/failpoints/run.ts';
import { failpointScript, PUSHED, RAN } from '../support/failpoints/script.ts';
import { startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';

/** Runs side by side. */
const AT_ONCE = 2;
const HOUR_MS = 60 * 60 * 1000;
/**
 * By so many commits two runs may differ: the title's write and that of when the key was last used come beside the run's
 * own, and share a commit with one of these or do not.
 */
const BESIDE = 2;

describe('killed at a write, or without room or lock for it', () => {
  let forge: GitServer;
  let model: ModelServer;
  let writes: string[] | undefined;

  before(async () => {
    forge = await startForge({ 'acme/app': { files: { 'a.txt': 'here\n' } } });
    model = await startModelServer(failpointScript);
  });
  after(async () => {
    await model.close();
    await forge.close();
  });

  const assertWhole = async (name: string, left: Left): Promise<void> => {
    assertNothingLost(left);
    assertLogWhole(left.events);
    assertRowIsFold(left);
    const ran = left.ran.trimEnd().split('\n');
    assert.deepEqual(ran.filter((one) => one !== 'mine').toSorted(), RAN, 'every command ran once');
    assertOwnDone(left, ran.filter((one) => one === 'mine').length);
    assert.equal(left.openActions, 0);
    assert.deepEqual(
      [left.view.status, left.view.agent_state, left.view.error],
      ['RUNNING', 'finished', null],
    );
    const branch = `parley-${name}`;
    const commit = await forge.commitOf('acme/app', branch);
    assert.equal(commit?.message, 'Work', outputsOf(left.events));
    for (const [path, content] of Object.entries(PUSHED)) {
      assert.equal(await forge.fileAt('acme/app', branch, path), content);
    }
    await assertNothingLeft(left.dataDir);
  };

  it('the run without a kill ends as it should, and counts the writes', async () => {
    await scriptedRun({ forge, model }, 'w0', null, async (left) => {
      await assertWhole('w0', left);
      assert.equal(left.kills, 0);
      writes = left.writes;
    });
  });

  it('goes on to the same end', async (t) => {
    assert.ok(writes, 'the writes are counted');
    const count = writes.length;
    const points = writes.flatMap((_, n) =>
      ['before', 'after', 'full', 'locked'].map((what) => `${what}:${n + 1}`),
    );
    const chosen = process.env['EVERY_WRITE'] === 'all' ? points : spread(points);
    t.diagnostic(`${chosen.length} of ${points.length} points; EVERY_WRITE=all for all of them`);
    const waiting = [...chosen];
    const worker = async (): Promise<void> => {
      for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
        const at = point;
        const name = at.replace(/^(.).*:/, '$1');
        const nth = Number(at.split(':')[1]);
        const clockOff = nth % 2 === 0 ? HOUR_MS : -HOUR_MS;
        await t.test(at, () =>
          scriptedRun({ forge, model }, name, { at, each: false, clockOff }, async (left) => {
            await assertWhole(name, left);
            assert.ok(left.met || nth > count - BESIDE, 'the write was met');
            if (left.met && /^(before|after)/.test(at)) assert.equal(left.kills, 1);
          }),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  });

  it('goes on to the same end when every process dies at its twelfth write', async () => {
    await scriptedRun({ forge, model }, 'each', { at: 'after:12', each: true, clockOff: 0 }, async (left) => {
      await assertWhole('each', left);
      assert.ok(left.kills > 3, `it died ${left.kills} times`);
    });
  });
});

/** An odd step: all that may happen at a write comes in turn. */
function spread(points: readonly string[]): string[] {
  return points.filter((_, n) => n % 11 === 0);
}

function outputsOf(events: readonly Event[]): string {
  return events.map((event) => ('content' in event ? event.content : event.message)).join('\n');
}

/** The client was told that these are stored. */
function assertNothingLost({ events, settings, kills }: Left): void {
  const texts = events.flatMap((event) =>
    isAction(event, 'message') && event.source === 'user' ? [event.args.content] : [],
  );
  assert.equal(
    texts.filter((text) => text === FIRST).length,
    1,
    'creation is once, however often it is asked for',
  );
  const second = texts.filter((text) => text === SECOND).length;
  assert.ok(second >= 1 && second <= 1 + kills, 'only a message without an answer is sent again');
  assert.ok(typeof settings === 'object' && settings !== null && 'llm_api_key_set' in settings);
  assert.equal(settings.llm_api_key_set, true);
}

/** What the user asked for was done once, or was begun and is said to be of unknown outcome. */
function assertOwnDone({ events }: Left, times: number): void {
  const [own, ...more] = events.filter(isMine);
  assert.ok(own && more.length === 0, 'it is in the log once');
  const answers = events.filter((event) => 'observation' in event && event.cause === own.id);
  assert.equal(answers.length, 1);
  const known = answers.some((event) => isObservation(event, 'run'));
  assert.ok(times === 1 || (times === 0 && !known), `it ran ${times} times`);
}

function assertLogWhole(events: readonly Event[]): void {
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index),
    'ids have no gap',
  );
  const asked = events.filter((event) => 'action' in event && event.tool_call_metadata !== undefined);
  assert.ok(asked.length > 0);
  for (const { id } of asked) {
    const answers = events.filter((event) => 'observation' in event && event.cause === id);
    assert.equal(answers.length, 1, `action ${id} has one answer`);
  }
}

function assertRowIsFold({ events, row }: Left): void {
  const folded = events.reduce(project, EMPTY_PROJECTION);
  assert.deepEqual(
    {
      agentState: row['agent_state'],
      accumulatedCost: row['accumulated_cost'],
      promptTokens: row['prompt_tokens'],
      completionTokens: row['completion_tokens'],
      lastUserMessage: row['last_user_message'],
      condensation: row['condensation'],
    },
    folded,
  );
  assert.equal(row['last_event_id'], events.length - 1);
  assert.deepEqual([row['driver'], row['wanted'], row['unfinished']], [null, 0, 0]);
}

/** No process, socket, control group or temporary file, of the killed process or the one after it. */
async function assertNothingLeft(dataDir: string): Promise<void> {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  const own = digest(dataDir).slice(0, 8);
  const runDir = isRoot ? `/run/parley-${own}` : join(tmpdir(), `parley-${process.getuid?.()}-${own}`);
  assert.equal(existsSync(runDir), false, runDir);
  const name = `parley-${digest(runDir).slice(0, 10)}`;
  assert.deepEqual(await processesWith(`/${name}.`), []);
  assert.deepEqual(await groupsNamed(name), []);
  const files = await readdir(dataDir, { recursive: true });
  assert.deepEqual(
    files.filter((file) => /(^|\/)\.drafts\/|\.lock$|secret-key\./.test(file) && file !== 'serving.lock'),
    [],
  );
}
