import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ServiceError } from '../../errors.ts';
import { userMessage } from '../../events/build.ts';
import { isObservation } from '../../events/event.ts';
import { FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { bash, edit, finish, Stage } from '../../../test/support/agent/stage.ts';

/** As the provider's clients throw it. */
function status(code: number, message = 'no', headers: Record<string, string> = {}): Error {
  return Object.assign(new Error(message), { statusCode: code, responseHeaders: headers });
}

const soon = { 'retry-after-ms': '1' };

test('what passes by itself is tried again, and told to who watches', async () => {
  const stage = new Stage([
    [{ error: status(429, 'slow down', soon) }, { error: status(503, 'busy', soon) }, { calls: [finish()] }],
  ]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  assert.deepEqual(
    stage.statuses.map(({ type, id, message }) => [type, id, message]),
    [
      ['info', 'STATUS$LLM_RETRY', 'Retrying LLM request, 1 / 5'],
      ['info', 'STATUS$LLM_RETRY', 'Retrying LLM request, 2 / 5'],
    ],
  );
  assert.match(stage.statuses[0]?.reason ?? '', /slow down/);
  assert.equal(stage.log.iterations, 1);
});

test('a rate limit that does not pass ends in its own state', async () => {
  const stage = new Stage([{ error: status(429, 'slow down', soon) }]);
  const outcome = await stage.run();
  assert.ok(outcome.kind === 'failed' && outcome.code === 'model_rate_limited');
  assert.equal(stage.model.prompts.length, 5);
  const last = stage.log.events.at(-1);
  assert.ok(last && isObservation(last, 'agent_state_changed'));
  assert.equal(last.extras.agent_state, 'rate_limited');
});

test('a wait longer than two minutes is no wait but a failure', async () => {
  const stage = new Stage([{ error: status(429, 'tomorrow', { 'retry-after': '86400' }) }]);
  assert.equal((await stage.run()).kind, 'failed');
  assert.equal(stage.model.prompts.length, 1);
});

test('a refused key ends the run at once, with the status that V0 has and a hint', async () => {
  const stage = new Stage([{ error: status(401) }]);
  const outcome = await stage.run();
  assert.ok(outcome.kind === 'failed');
  assert.equal(outcome.runtimeStatus, 'STATUS$ERROR_LLM_AUTHENTICATION');
  assert.match(outcome.hint, /llm_api_key/);
  const last = stage.log.events.at(-1);
  assert.ok(last && isObservation(last, 'agent_state_changed'));
  assert.deepEqual(last.extras, { agent_state: 'error', reason: 'STATUS$ERROR_LLM_AUTHENTICATION' });
  assert.equal(stage.model.prompts.length, 1);
});

test('after a failure a message of the user goes on', async () => {
  const stage = new Stage([[{ error: status(401) }, { calls: [finish()] }]]);
  await stage.run();
  stage.log.append([userMessage('Now the key is right.')]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
});

test('a history that is too long for the model is asked with less of it', async () => {
  const long = status(400, 'maximum context length exceeded: context_length_exceeded');
  const stage = new Stage([
    { calls: [bash('a')] },
    { calls: [bash('b')] },
    [{ error: long }, { error: long }, { calls: [finish()] }],
  ]);
  stage.sandbox.exec_ = () => ({ output: 'x'.repeat(9_000) });
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  const sizes = stage.model.prompts.slice(2).map((prompt) => JSON.stringify(prompt.slice(1)).length);
  assert.equal(sizes.length, 3);
  assert.ok(
    sizes.every((size, n) => n === 0 || size < (sizes[n - 1] ?? 0) * 0.75),
    String(sizes),
  );
});

test('calls that are wrong are told what is wrong, and the log tells the same', async () => {
  const stage = new Stage([
    {
      calls: [
        { name: 'execute_bash', input: '{"command": "torn' },
        { name: 'no such tool!', input: { a: 1 } },
        bash('good'),
        { name: 'execute_bash', input: { command: 7 } },
        edit({ command: 'create', path: '/workspace/a' }),
      ],
    },
    { calls: [finish()] },
  ]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  const results = stage.model.prompts[1]?.find(({ role }) => role === 'tool')?.content;
  assert.ok(Array.isArray(results));
  const told = results.map((part) => ('output' in part ? JSON.stringify(part.output) : ''));
  assert.match(told[0] ?? '', /error-text.*execute_bash was not called: The arguments are not JSON/);
  assert.match(told[1] ?? '', /There is no tool.*The tools are: execute_bash/);
  assert.match(told[2] ?? '', /ran good/);
  assert.match(told[3] ?? '', /command.*string/);
  assert.match(told[4] ?? '', /file_text must be given/);
  const errors = stage.log.events.filter((event) => isObservation(event, 'error'));
  assert.equal(errors.length, 4);
  assert.ok(errors.every((event) => event.tool_call_metadata && !('cause' in event)));
});

test('a step of wrong calls alone goes on to the next', async () => {
  const stage = new Stage([{ calls: [{ name: 'nonsense', input: {} }] }, { calls: [finish()] }]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
});

test('without a sandbox nothing is run, every action is answered, and the run fails with the reason', async () => {
  const stage = new Stage([{ calls: [bash('a'), bash('b')] }]);
  const outcome = await stage.run({
    sandbox: () => Promise.reject(new ServiceError('sandbox_unavailable', 'No bubblewrap here.')),
  });
  assert.ok(outcome.kind === 'failed' && outcome.code === 'sandbox_unavailable');
  assert.equal(outcome.message, 'No bubblewrap here.');
  assert.deepEqual(stage.story().slice(-3), ['→ error', '→ error', 'state error']);
  assert.equal(stage.log.open.size, 0);
});

test('an abort while the model answers ends the run at once', async () => {
  const stage = new Stage([{ calls: [bash('a')], meanwhile: () => new Promise(() => stage.abort.abort()) }]);
  assert.deepEqual(await stage.run(), { kind: 'aborted' });
  assert.equal(stage.log.actions().length, 1, 'the system event alone');
});

test('an abort while a command runs keeps what it printed, and starts nothing more', async () => {
  const stage = new Stage([{ calls: [bash('long'), bash('next')] }]);
  stage.sandbox.exec_ = (_, { signal }) => {
    stage.abort.abort();
    assert.ok(signal.aborted);
    return { kind: 'interrupted', output: 'half of it', exitCode: 130 };
  };
  assert.deepEqual(await stage.run(), { kind: 'aborted' });
  assert.deepEqual(stage.sandbox.commands, ['long']);
  const run = stage.log.events.findLast((event) => isObservation(event, 'run'));
  assert.ok(run && isObservation(run, 'run'));
  assert.equal(run.content, 'half of it');
  assert.match(run.extras.metadata.suffix, /interrupted/);
  assert.deepEqual([...stage.log.open.values()], ['recorded']);
});

test('an abort while the sandbox starts leaves no action of unknown outcome', async () => {
  const stage = new Stage([{ calls: [bash('a')] }]);
  const sandbox = () => {
    stage.abort.abort();
    return Promise.reject(stage.abort.signal.reason as Error);
  };
  assert.deepEqual(await stage.run({ sandbox }), { kind: 'aborted' });
  assert.equal(stage.log.open.size, 0);
  assert.match(JSON.stringify(stage.log.events.at(-1)), /was not begun/);
});

test('an abort as the step is stored leaves no action of unknown outcome', async () => {
  const stage = new Stage([{ calls: [bash('a'), bash('b')] }]);
  stage.sandbox.exec_ = (_, { signal }) =>
    signal.aborted ? { kind: 'interrupted', output: '', exitCode: 130 } : {};
  const afterWrite = () => {
    if (stage.log.open.size > 0) stage.abort.abort();
  };
  const journal = new FakeJournal(stage.log, { afterWrite });
  assert.deepEqual(await stage.run({ journal }), { kind: 'aborted' });
  assert.deepEqual([...stage.log.open.values()], ['recorded']);
});

test('an abort while waiting to ask again ends the wait', async () => {
  const stage = new Stage([{ error: status(503, 'busy', { 'retry-after': '100' }) }]);
  const outcome = await stage.run({ notify: () => stage.abort.abort() });
  assert.deepEqual(outcome, { kind: 'aborted' });
});

test('what the journal throws comes out, unless another one drives', async () => {
  const stage = new Stage([]);
  const journal = new FakeJournal(stage.log);
  journal.append = () => Promise.reject(new ServiceError('storage_unavailable', 'full'));
  await assert.rejects(stage.run({ journal }), { code: 'storage_unavailable' });
});
