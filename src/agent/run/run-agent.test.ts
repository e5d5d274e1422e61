import assert from 'node:assert/strict';
import { test } from 'node:test';

import { stateChanged, userMessage } from '../../events/build.ts';
import { isAction, isObservation } from '../../events/event.ts';
import { FakeJournal } from '../../../test/support/agent/fake-journal.ts';
import { bash, finish, Stage } from '../../../test/support/agent/stage.ts';

test('a conversation begins in the order that V0 has, but that its first message is there before the agent', async () => {
  const stage = new Stage([{ text: 'Looking.', calls: [bash('ls')] }, { calls: [finish()] }]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  assert.deepEqual(stage.story(), [
    'user message',
    'agent system',
    'environment change_agent_state',
    'user recall',
    'state running',
    '→ recall',
    'agent run',
    '→ run',
    'agent finish',
    '→ null',
    'state finished',
  ]);
  const recall = stage.log.get(5);
  assert.ok(isObservation(recall, 'recall') && recall.cause === 3);
  const run = stage.log.get(6);
  assert.ok(isAction(run, 'run'));
  assert.equal(run.args.thought, 'Looking.');
  assert.equal(stage.log.open.size, 0);
});

test('a text without calls waits for the user, and their answer goes on', async () => {
  const stage = new Stage([{ text: 'Which one?' }, { calls: [finish()] }]);
  assert.deepEqual(await stage.run(), { kind: 'waiting' });
  assert.deepEqual(stage.story().slice(-2), ['agent message', 'state awaiting_user_input']);
  stage.log.append([userMessage('The first.')]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  assert.deepEqual(stage.story().slice(8, 11), ['user message', 'user recall', 'state running']);
});

test("no blank text goes to the model, which some refuse: neither its own beside a call nor the user's", async () => {
  const stage = new Stage([{ text: '\n\n', calls: [bash('ls')] }, { text: 'Which?' }, { calls: [finish()] }]);
  await stage.run();
  stage.log.append([userMessage('  \n')]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  const prompt = stage.model.prompts.at(-1) ?? [];
  const texts = prompt.flatMap(({ role, content }) =>
    role === 'system' ? [] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
  assert.deepEqual(texts.slice(1), ['Which?', 'The message of the user is empty.']);
});

test('a hint delivered twice finds nothing to do', async () => {
  const stage = new Stage([{ text: 'Which one?' }]);
  await stage.run();
  const before = stage.log.events.length;
  assert.deepEqual(await stage.run(), { kind: 'waiting' });
  assert.equal(stage.log.events.length, before);
  assert.equal(stage.model.prompts.length, 1);
});

test('a conversation without a message waits for one', async () => {
  const stage = new Stage([], null);
  stage.log.append([stateChanged('loading')]);
  assert.deepEqual(await stage.run(), { kind: 'waiting' });
  assert.deepEqual(stage.story(), ['state loading', 'state awaiting_user_input']);
});

test('calls of one step run in their order, each with its own answer', async () => {
  const stage = new Stage([
    { calls: [bash('one'), bash('two'), { name: 'think', input: { thought: 'hm' } }, bash('three')] },
    { calls: [finish()] },
  ]);
  await stage.run();
  assert.deepEqual(stage.sandbox.commands, ['one', 'two', 'three']);
  const results = stage.model.prompts[1]?.find(({ role }) => role === 'tool')?.content;
  assert.ok(Array.isArray(results));
  assert.deepEqual(
    results.map(
      (part) => 'output' in part && part.output.type === 'text' && part.output.value.split('\n')[0],
    ),
    ['ran one', 'ran two', 'Your thought has been logged.', 'ran three'],
  );
});

test('what comes after finish in the same step is not done, and says so', async () => {
  const stage = new Stage([{ calls: [bash('one'), finish(), bash('two')] }]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  assert.deepEqual(stage.sandbox.commands, ['one']);
  assert.deepEqual(stage.story().slice(-4), ['→ run', '→ null', '→ error', 'state finished']);
  assert.equal(stage.log.open.size, 0);
});

test('a message that comes while a command runs is taken up at the next step', async () => {
  const stage = new Stage([{ calls: [bash('long')] }, { calls: [finish()] }]);
  stage.sandbox.exec_ = () => {
    stage.log.append([userMessage('Also do this.')]);
    return {};
  };
  await stage.run();
  const last = stage.model.prompts[1]?.at(-1);
  assert.equal(last?.role, 'user');
  assert.match(JSON.stringify(last.content), /Also do this/);
});

test('a message that comes while the model answers stands behind that answer, and is not lost', async () => {
  const stage = new Stage([
    { text: 'What now?', meanwhile: () => void stage.log.append([userMessage('Go on.')]) },
    { calls: [finish()] },
  ]);
  assert.deepEqual(await stage.run(), { kind: 'finished' });
  assert.deepEqual(
    stage.model.prompts[1]?.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
});

test('a log is read once, however many steps a run takes', async () => {
  const steps = Array.from({ length: 20 }, (_, n) => ({ calls: [bash(`step ${n}`)] }));
  const stage = new Stage([...steps, { calls: [finish()] }]);
  await stage.run();
  assert.equal(stage.log.reads, 1);
});

test('tokens and cost add up in the metrics of the actions', async () => {
  const usage = { prompt: 1_000, completion: 100 };
  const stage = new Stage(
    [
      { calls: [bash('a')], usage },
      { calls: [finish()], usage },
    ],
    'Do it.',
    'openai/gpt-4o',
  );
  await stage.run({ spent: { cost: 1, promptTokens: 5, completionTokens: 6 } });
  const metrics = stage.log.actions().flatMap((event) => ('llm_metrics' in event ? [event.llm_metrics] : []));
  assert.equal(metrics.length, 2);
  assert.equal(metrics[1]?.accumulated_token_usage.prompt_tokens, 2_005);
  assert.equal(metrics[1]?.accumulated_token_usage.completion_tokens, 206);
  assert.ok((metrics[1]?.accumulated_cost ?? 0) > (metrics[0]?.accumulated_cost ?? 0));
  assert.ok((metrics[0]?.accumulated_cost ?? 0) > 1);
});

test('the system event shows what the model is told, and stands in the log once', async () => {
  const stage = new Stage([{ text: 'One?' }, { text: 'Two?' }, { text: 'Three?' }, { text: 'Four?' }]);
  const context = {
    instructions: 'Be brief.',
    language: 'de',
    secretDescriptions: { API_TOKEN: 'for the shop' },
  };
  await stage.run(context);
  stage.log.append([userMessage('More.')]);
  await stage.run(context);
  const systems = () => stage.log.events.flatMap((event) => (isAction(event, 'system') ? [event.args] : []));
  assert.equal(systems().length, 1);
  assert.equal(stage.model.prompts[0]?.[0]?.content, systems()[0]?.content);
  assert.match(systems()[0]?.content ?? '', /Be brief\.[^]*/);
  assert.match(systems()[0]?.content ?? '', /German \(de\)/);
  assert.match(systems()[0]?.content ?? '', /\$API_TOKEN: for the shop/);
  stage.log.append([userMessage('And more.')]);
  await stage.run({ ...context, instructions: 'Be long.' });
  assert.equal(systems().length, 2);
  stage.log.append([userMessage('Look it up.')]);
  const search = async () => ({ ok: true as const, results: [] });
  await stage.run({ ...context, instructions: 'Be long.', search });
  assert.equal(systems().length, 3, 'also when the tools are others');
  assert.match(JSON.stringify(systems()[2]?.tools), /"web_search"/);
});

test('thoughts and lists of tasks at the beginning of a step are answered in the write of the step itself', async () => {
  const plan = { command: 'plan', task_list: [{ id: '1', title: 'Look', status: 'todo' }] };
  const stage = new Stage([
    {
      calls: [
        { name: 'think', input: { thought: 'hm' } },
        { name: 'task_tracker', input: plan },
        { name: 'task_tracker', input: { command: 'view' } },
        bash('ls'),
      ],
    },
    { calls: [finish()] },
  ]);
  const written: number[] = [];
  const journal = new FakeJournal(stage.log, { afterWrite: ({ events }) => written.push(events.length) });
  assert.deepEqual(await stage.run({ journal }), { kind: 'finished' });
  const story = stage.story();
  const first = story.indexOf('agent think');
  assert.deepEqual(story.slice(first, first + 8), [
    'agent think',
    'agent task_tracking',
    'agent task_tracking',
    'agent run',
    '→ think',
    '→ task_tracking',
    '→ task_tracking',
    '→ run',
  ]);
  assert.deepEqual(
    written.filter((events) => events > first && events <= first + 8),
    [first + 7, first + 8],
  );
  const viewed = stage.log.get(first + 6);
  assert.ok(isObservation(viewed, 'task_tracking') && viewed.content.includes('Look'));
});
