import assert from 'node:assert/strict';
import { test } from 'node:test';

import { action, givenAction, inertAction, stateChanged } from './build.ts';
import { redactEvent, redactInTurns, redactJson } from './redact.ts';

const hide = (secret: string) => (text: string) => text.replaceAll(secret, '***');

test('names of ours stay, whatever the secret, and the same names within are text', () => {
  assert.deepEqual(redactEvent(stateChanged('running', 'running on'), hide('running')), {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: 'running', reason: '*** on' },
  });
  const call = action('agent', 'call_tool_mcp', '', {
    name: 'send',
    arguments: {
      source: 'top-secret',
      action: ['top-secret'],
      agent_state: { timestamp: 'top-secret', 'top-secret': 1 },
    },
    thought: '',
    security_risk: -1,
  });
  assert.doesNotMatch(JSON.stringify(redactEvent(call, hide('top-secret'))), /top-secret/);
});

test('what a client says under a name of ours is text, unless it is a word of ours', () => {
  const secret = 'top-secret';
  const args = { agent_state: secret, impl_source: { recall_type: [secret] }, confirmation_state: [secret] };
  for (const event of [inertAction('recall', args), givenAction('browse', args)]) {
    assert.doesNotMatch(JSON.stringify(redactEvent(event, hide(secret))), /top-secret/);
  }
  const others = givenAction('browse', { agent_state: 'confirmed', recall_type: 'confirmed' });
  assert.doesNotMatch(JSON.stringify(redactEvent(others, hide('confirmed'))), /confirmed/);
});

test('of any JSON every text is cleaned', () => {
  const value = { source: 'a secret', list: ['secret', 1, null], deep: { action: 'secret', secret: true } };
  assert.deepEqual(redactJson(value, hide('secret')), {
    source: 'a ***',
    list: ['***', 1, null],
    deep: { action: '***', '***': true },
  });
});

test('in turns an event becomes what it becomes at once', async () => {
  const redact = hide('secret');
  const redactor = { redact, redactInTurns: (text: string) => Promise.resolve(redact(text)) };
  const given = { name: 'a secret', arguments: { secret: ['', 'secret', 'secret', 1, null] }, thought: 'x' };
  const event = action('user', 'call_tool_mcp', 'secret', { ...given, security_risk: -1 });
  const redacted = await redactInTurns(event, redactor);
  assert.deepEqual(redacted, redactEvent(event, redact));
  assert.doesNotMatch(JSON.stringify(redacted), /secret/);
});
