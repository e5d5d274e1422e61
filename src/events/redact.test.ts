import assert from 'node:assert/strict';
import { test } from 'node:test';

import { action, stateChanged } from './build.ts';
import { redactEvent, redactJson } from './redact.ts';

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

test('of any JSON every text is cleaned', () => {
  const value = { source: 'a secret', list: ['secret', 1, null], deep: { action: 'secret', secret: true } };
  assert.deepEqual(redactJson(value, hide('secret')), {
    source: 'a ***',
    list: ['***', 1, null],
    deep: { action: '***', '***': true },
  });
});
