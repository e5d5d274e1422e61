/**
 * Whatever users do to a conversation at the same time, and whenever the process dies: no message is lost, nobody
 * drives twice, every action gets its answer, and it comes to rest.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NO_SANDBOX, startConversations, type TestConversations } from '../../test/support/conversations.ts';
import type { AgentContext, AgentOutcome } from '../agent/context.ts';
import { action, agentMessage, errorObservation, stateChanged, userCommand } from '../events/build.ts';
import { type Event, isAction, type NewEvent } from '../events/event.ts';
import { EMPTY_PROJECTION, project } from '../events/projection.ts';
import type { Sandbox, SandboxProvider } from '../sandbox/sandbox.ts';
import { openWorkspaceFiles } from '../sandbox/workspace/workspace.ts';
import { fc } from '../../test/support/samples.ts';

const OPERATIONS = ['create', 'message', 'ask', 'stop', 'start', 'pause', 'resume', 'remove'] as const;
const IDS = ['a', 'b'] as const;
type Operation = { do: (typeof OPERATIONS)[number]; id: (typeof IDS)[number]; after: number };

const operation: fc.Arbitrary<Operation> = fc.record({
  do: fc.constantFrom(...OPERATIONS, 'message', 'ask', 'start'),
  id: fc.constantFrom(...IDS),
  after: fc.integer({ min: 0, max: 6 }),
});
/** What is asked at the same time, and whether the process dies in the middle of it. */
const round = fc.record({
  operations: fc.array(operation, { minLength: 1, maxLength: 6 }),
  crashAfter: fc.option(fc.integer({ min: 0, max: 8 }), { freq: 4 }),
});

/** One process after the other over the same data, and what its user remembers. */
class World {
  here!: TestConversations;
  readonly faults: string[] = [];
  /** Texts that were acknowledged, by conversation; those a removal may have taken are forgotten. */
  readonly acknowledged = { a: new Set<string>(), b: new Set<string>() };
  readonly #removing = { a: 0, b: 0 };
  #said = 0;

  async start(from?: Awaited<ReturnType<TestConversations['crash']>>): Promise<void> {
    const driven = new Set<string>();
    this.here = await startConversations({ provider: slowSandboxes(), ...(from && { from }) });
    this.here.agent = async (context) => {
      const { conversationId: id } = context;
      if (driven.has(id)) this.faults.push(`${id} is driven twice`);
      driven.add(id);
      try {
        return await work(context, (fault) => this.faults.push(fault));
      } finally {
        driven.delete(id);
      }
    };
    await this.here.sweep.recover(new AbortController().signal);
  }

  async crash(): Promise<void> {
    await this.start(await this.here.crash());
  }

  async do({ do: what, id }: Pick<Operation, 'do' | 'id'>): Promise<void> {
    const { service, principal } = this.here;
    switch (what) {
      case 'create':
        return await this.#say(id, (content) =>
          service.create(principal, { conversation_id: id, initial_user_msg: content }),
        );
      case 'message':
        return await this.#say(id, (content) => service.message(principal, id, { content }));
      case 'ask':
        return await this.#say(id, (content) =>
          service.run(principal, id, userCommand({ command: content, hidden: false })),
        );
      case 'stop':
        return void (await service.stop(principal, id));
      case 'start':
        return void (await service.start(principal, id));
      case 'pause':
        return await service.changeAgentState(principal, id, 'paused');
      case 'resume':
        return await service.changeAgentState(principal, id, 'running');
      case 'remove':
        this.#removing[id] += 1;
        this.acknowledged[id].clear();
        return await service.remove(principal, id);
    }
  }

  async #say(id: Operation['id'], send: (content: string) => Promise<unknown>): Promise<void> {
    const content = `message ${(this.#said += 1)}`;
    const removals = this.#removing[id];
    await send(content);
    if (this.#removing[id] === removals) this.acknowledged[id].add(content);
  }
}

/** Sandboxes that take a moment to come and to go, as real ones do. */
function slowSandboxes(): SandboxProvider {
  return {
    ...NO_SANDBOX,
    open: async (spec) => {
      await sleep(1);
      const ended = Promise.withResolvers<{ reason: string }>();
      let open = true;
      const sandbox: Sandbox = {
        root: '/workspace',
        files: openWorkspaceFiles(spec.workspace, {
          mountedAt: '/workspace',
          drafts: spec.drafts,
          owner: null,
          readOnly: false,
        }),
        ended: ended.promise,
        exec: async () => {
          await sleep(1);
          return { kind: open ? 'exited' : 'lost', exitCode: 0, output: '', cwd: '/workspace' };
        },
        launch: () => Promise.reject(new Error('no program is started here')),
        close: async () => {
          open = false;
          await sleep(1);
          ended.resolve({ reason: 'closed' });
        },
      };
      return sandbox;
    },
  };
}

const command = (): NewEvent =>
  action('agent', 'run', 'Running command: x', {
    command: 'x',
    is_input: false,
    thought: '',
    blocking: false,
    is_static: false,
    cwd: null,
    hidden: false,
    confirmation_state: 'confirmed',
    security_risk: -1,
  });
const answer = (cause: number): NewEvent => errorObservation('done', 'TEST', { cause });
const isSaid = (event: Event): boolean => isAction(event, 'message') && event.source === 'user';

/** A small agent that keeps the journal's rules: for every message two commands, then an answer. */
async function work(context: AgentContext, fault: (what: string) => void): Promise<AgentOutcome> {
  const { journal, signal } = context;
  const carryOut = async (id: number): Promise<void> => {
    const sandbox = await context.sandbox();
    const { kind } = await sandbox.exec('x', { timeoutMs: 1_000, signal });
    if (kind === 'lost' && !signal.aborted) fault('a sandbox was closed under the run that uses it');
    await journal.answer([answer(id)]);
  };
  for (const { eventId, state } of await journal.openActions()) {
    if (state === 'started') await journal.answer([answer(eventId)]);
    else {
      await journal.start(eventId);
      await carryOut(eventId);
    }
  }
  for (;;) {
    signal.throwIfAborted();
    const events = await journal.read(0, 1_000);
    const saw = events.filter(isSaid).length;
    const [first, second] = await journal.recordStep([command(), command()], {
      iterations: 1,
      open: [0, 1],
      started: 0,
    });
    assert.ok(first && second);
    await carryOut(first.id);
    signal.throwIfAborted();
    await journal.start(second.id);
    await carryOut(second.id);
    await journal.append([agentMessage(`saw ${saw}`), stateChanged('awaiting_user_input')]);
    if ((await journal.lastUserMessage()) <= (events.at(-1)?.id ?? -1)) return { kind: 'waiting' };
  }
}

/** Of a conversation that has come to rest. */
async function assertAtRest({ here, acknowledged }: World, id: Operation['id']): Promise<void> {
  const row = await here.storage.read.conversations.find(here.principal.userId, id);
  if (!row) return;
  const events = await here.events(id);
  const texts = events.flatMap((event) => {
    if (isAction(event, 'message')) return [event.args.content];
    return isAction(event, 'run') && event.source === 'user' ? [event.args.command] : [];
  });
  for (const text of acknowledged[id]) {
    assert.equal(texts.filter((one) => one === text).length, 1, `${text} is in the log of ${id} once`);
  }
  assert.ok(['RUNNING', 'STOPPED'].includes(row.status), `${id} rests as ${row.status}`);
  assert.deepEqual(await here.storage.read.openActions.of(row.key), []);
  for (const { id: asked } of events.filter((event) => isAction(event, 'run'))) {
    const answers = events.filter((event) => 'observation' in event && event.cause === asked);
    assert.equal(answers.length, 1, `action ${asked} of ${id} has one answer`);
  }
  assert.deepEqual(
    events.map((event) => event.id),
    events.map((_, index) => index),
  );
  const { agentState, accumulatedCost, promptTokens, completionTokens, lastUserMessage, condensation } = row;
  assert.deepEqual(
    { agentState, accumulatedCost, promptTokens, completionTokens, lastUserMessage, condensation },
    events.reduce(project, EMPTY_PROJECTION),
  );
}

async function assertAnswers({ here }: World, id: Operation['id']): Promise<void> {
  if (!(await here.storage.read.conversations.find(here.principal.userId, id))) return;
  await here.service.message(here.principal, id, { content: 'the last' });
  await here.settled(id);
  const events = await here.events(id);
  const last = events.findLast((event) => isAction(event, 'message'));
  assert.ok(last && isAction(last, 'message'));
  assert.equal(last.args.content, `saw ${events.filter(isSaid).length}`, `${id} answers what was said`);
}

const RUNS = Number(process.env['INTERLEAVINGS'] ?? 40);

test('no message is lost, nobody drives twice, every action is answered, and all comes to rest', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
      const world = new World();
      await world.start();
      try {
        for (const { operations, crashAfter } of rounds) {
          // A request that is refused, or that a crash cuts off, promises nothing.
          const asked = operations.map(async (one) => {
            await sleep(one.after);
            await world.do(one).catch(() => {});
          });
          if (crashAfter !== null) {
            await sleep(crashAfter);
            await world.crash();
          }
          await Promise.all(asked);
        }
        for (const id of IDS) await atRest(world, id);
        for (const id of IDS) await assertAtRest(world, id);
        for (const id of IDS) await assertAnswers(world, id);
        for (const id of IDS) await assertAtRest(world, id);
        assert.deepEqual(world.faults, []);
      } finally {
        await world.here.close();
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

async function atRest({ here }: World, id: Operation['id']): Promise<void> {
  if (await here.storage.read.conversations.find(here.principal.userId, id)) await here.settled(id);
}
