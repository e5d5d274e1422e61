import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isAction, isObservation } from '../../events/event.ts';
import type { CallOutcome } from '../../mcp/connection.ts';
import type { OfferedTool } from '../../mcp/conversation-servers.ts';
import { Stage } from '../../../test/support/agent/stage.ts';
import type { AgentContext } from '../context.ts';
import { readRecording } from '../replay/recording.ts';
import { toolsOf, toolsOffered } from './toolbox.ts';

const LOOK: OfferedTool = {
  name: 'look',
  offered: 'eyes_look',
  server: 'eyes',
  description: 'Looks.',
  schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
};
const PIXEL = 'aGVsbG8=';

/** Servers that answer all calls alike, and remember them. */
function servers(outcome: CallOutcome) {
  const calls: unknown[] = [];
  const mcp: NonNullable<AgentContext['mcp']> = {
    tools: [LOOK],
    call: (name, server, input) => {
      calls.push([name, server, input]);
      return Promise.resolve(outcome);
    },
  };
  return { mcp, calls };
}
const answered = (content: unknown[], isError = false): CallOutcome => ({
  kind: 'answered',
  called: { content, isError },
});

test('a call is recorded as V0 records it, with its server, and without what rates it', async () => {
  const stage = new Stage([
    { calls: [{ name: 'eyes_look', input: { at: 'the sky', security_risk: 'HIGH' } }] },
    { text: 'Blue.' },
  ]);
  const { mcp, calls } = servers(
    answered([
      { type: 'text', text: 'blue' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
    ]),
  );
  await stage.run({ mcp, securityAnalyzer: 'llm' });
  assert.deepEqual(calls, [['eyes_look', 'eyes', { at: 'the sky' }]]);
  const asked = stage.log.actions().find((event) => isAction(event, 'call_tool_mcp'));
  assert.ok(asked && isAction(asked, 'call_tool_mcp'));
  assert.deepEqual(asked.args, {
    name: 'eyes_look',
    server: 'eyes',
    arguments: { at: 'the sky' },
    thought: '',
    security_risk: 2,
  });
  const [answer] = stage.log.answersTo(asked.id);
  assert.ok(answer && isObservation(answer, 'mcp'));
  assert.deepEqual(JSON.parse(answer.content), {
    content: [
      { type: 'text', text: 'blue' },
      { type: 'image', mimeType: 'image/png', data: 'image 1' },
    ],
    isError: false,
  });
  assert.deepEqual(answer.extras.image_urls, [`data:image/png;base64,${PIXEL}`]);
});

test('the model is told the texts of an answer, and shown its images after it', async () => {
  const stage = new Stage([{ calls: [{ name: 'eyes_look', input: { at: 'it' } }] }, { text: 'Seen.' }]);
  const { mcp } = servers(
    answered([
      { type: 'text', text: 'one' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'text', text: 'two' },
    ]),
  );
  await stage.run({ mcp });
  const [tool, shown] = stage.model.prompts.at(-1)?.slice(-2) ?? [];
  assert.deepEqual([tool?.role, shown?.role], ['tool', 'user']);
  assert.match(JSON.stringify(tool), /"one\\ntwo"/);
  assert.match(JSON.stringify(shown), /What eyes_look gave to look at:/);
  assert.match(JSON.stringify(shown), /image\/png/);
});

test('what goes wrong is an observation: an error of the tool, of the server, and no answer at all', async () => {
  const outcomes: [CallOutcome, error: boolean, told: RegExp][] = [
    [answered([{ type: 'text', text: 'too dark' }], true), true, /too dark/],
    [
      { kind: 'refused', refusal: { code: -32602, message: 'no such place' } },
      true,
      /\(-32602\): no such place/,
    ],
    [
      { kind: 'failed', reason: 'It did not answer within 5 seconds.', effect: 'unknown' },
      true,
      /within 5 seconds\. Whether the call had its effect is not known/,
    ],
    [
      { kind: 'failed', reason: 'It is not connected.', effect: 'none' },
      true,
      /was not called\. .*not connected/,
    ],
    [answered([]), false, /Done\./],
  ];
  for (const [outcome, error, told] of outcomes) {
    const stage = new Stage([{ calls: [{ name: 'eyes_look', input: {} }] }, { text: 'So be it.' }]);
    assert.equal((await stage.run({ mcp: servers(outcome).mcp })).kind, 'waiting');
    const result = stage.model.prompts.at(-1)?.at(-1);
    assert.match(JSON.stringify(result), told);
    assert.equal(JSON.stringify(result).includes('"error-text"'), error);
  }
});

test('a call that a crash cut off is told to be of unknown outcome, and not made again', async () => {
  const stage = new Stage([{ calls: [{ name: 'eyes_look', input: {} }] }, { text: 'Then not.' }]);
  const { mcp, calls } = servers(answered([]));
  const dies: NonNullable<AgentContext['mcp']> = {
    ...mcp,
    call: (...given) => {
      void mcp.call(...given);
      return Promise.reject(new Error('the process died'));
    },
  };
  await assert.rejects(stage.run({ mcp: dies }), /the process died/);
  await stage.run({ mcp });
  assert.equal(calls.length, 1);
  const asked = stage.log.actions().find((event) => isAction(event, 'call_tool_mcp'));
  const [answer] = stage.log.answersTo(asked?.id ?? -1);
  assert.match(answer && 'content' in answer ? answer.content : '', /its outcome is not known/);
});

test('a recording calls the tools of servers again', async () => {
  const recording = readRecording(
    JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'Look.' } },
      { source: 'agent', action: 'call_tool_mcp', args: { name: 'eyes_look', arguments: { at: 'it' } } },
    ]),
  );
  assert.ok(recording.ok);
  const stage = new Stage([{ text: 'never' }, { text: 'Seen.' }], null);
  const { mcp, calls } = servers(answered([{ type: 'text', text: 'blue' }]));
  await stage.run({ mcp, replay: recording.steps });
  assert.deepEqual(calls, [['eyes_look', 'eyes', { at: 'it' }]]);
});

test('only CodeActAgent has them, with the schema of the server and how risky a call is', async () => {
  const { mcp } = servers(answered([]));
  const offered = (agent: AgentContext['agent']) => toolsOf({ agent, mcp }).map(({ name }) => name);
  assert.ok(offered('CodeActAgent').includes('eyes_look'));
  assert.ok(!offered('ReadOnlyAgent').includes('eyes_look'));
  assert.deepEqual(offered('DummyAgent'), []);
  const shown = toolsOffered(toolsOf({ agent: 'CodeActAgent', mcp })).find(
    ({ name }) => name === 'eyes_look',
  );
  assert.equal(shown?.description, '[MCP server eyes] Looks.');
  assert.deepEqual(Object.keys(shown?.inputSchema.properties ?? {}), ['at', 'security_risk']);
  assert.deepEqual(shown?.inputSchema.required, ['at']);
});
