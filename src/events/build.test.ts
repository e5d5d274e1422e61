import assert from 'node:assert/strict';
import { test } from 'node:test';
import { action, agentMessage, errorObservation, observation, stateChanged, userMessage } from './build.ts';
import { isAction, isObservation } from './event.ts';

test("a user's message has V0's shape, with images and files or without", () => {
  assert.deepEqual(userMessage('hello'), {
    source: 'user',
    message: 'hello',
    action: 'message',
    args: { content: 'hello', file_urls: null, image_urls: [], wait_for_response: false, security_risk: -1 },
  });
  const { args } = userMessage('look', ['https://example.com/a.png'], ['notes.txt']) as { args?: unknown };
  assert.deepEqual(args, {
    content: 'look',
    file_urls: ['notes.txt'],
    image_urls: ['https://example.com/a.png'],
    wait_for_response: false,
    security_risk: -1,
  });
});

test("an agent's message waits for its user", () => {
  assert.deepEqual(agentMessage('Which one?'), {
    source: 'agent',
    message: 'Which one?',
    action: 'message',
    args: {
      content: 'Which one?',
      file_urls: null,
      image_urls: null,
      wait_for_response: true,
      security_risk: -1,
    },
  });
});

test('a change of state says which, and why', () => {
  assert.deepEqual(stateChanged('error', 'no model'), {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: 'error', reason: 'no model' },
  });
});

test('an error is an observation with a stable id, and may answer an action', () => {
  assert.deepEqual(errorObservation('It broke.', 'STATUS$ERROR', { cause: 4 }), {
    source: 'environment',
    message: 'It broke.',
    observation: 'error',
    content: 'It broke.',
    extras: { error_id: 'STATUS$ERROR' },
    cause: 4,
  });
});

test("an observation's message is its content, unless said otherwise", () => {
  assert.equal(observation('agent', 'think', 'content', {}).message, 'content');
  assert.equal(observation('agent', 'think', 'content', {}, { message: 'other' }).message, 'other');
});

test('events are told apart by name', () => {
  const thought = action('agent', 'think', 'hm', { thought: 'hm' });
  const answer = observation('agent', 'think', 'hm', {});
  assert.deepEqual(
    [isAction(thought, 'think'), isAction(thought, 'run'), isAction(answer, 'think')],
    [true, false, false],
  );
  assert.deepEqual(
    [isObservation(answer, 'think'), isObservation(answer, 'run'), isObservation(thought, 'think')],
    [true, false, false],
  );
});
