import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  action,
  agentMessage,
  errorObservation,
  observation,
  stateChanged,
  userMessage,
} from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import type { StoredEvent } from '../events/log.ts';
import { liveText, replayText } from './socket-rules.ts';

const recallArgs = { recall_type: 'knowledge', query: '', thought: '' } as const;
const asked = action('environment', 'change_agent_state', '', { agent_state: 'running', thought: '' });
const recall = action('user', 'recall', '', recallArgs);
const nothing = observation('environment', 'null', '', {});

function stored(event: NewEvent, id = 7): StoredEvent {
  return { id, json: JSON.stringify({ id, timestamp: '', ...event }) };
}

test('while it happens, what user and agent do is sent as it stands', () => {
  for (const event of [userMessage('hi'), agentMessage('hi'), recall]) {
    assert.equal(liveText(stored(event)), stored(event).json);
  }
});

test('while it happens, of the environment only what answers the agent is sent, as the agent', () => {
  for (const event of [stateChanged('running'), errorObservation('oops', '')]) {
    assert.deepEqual(JSON.parse(liveText(stored(event)) ?? ''), {
      id: 7,
      timestamp: '',
      ...event,
      source: 'agent',
    });
  }
  for (const event of [asked, nothing]) assert.equal(liveText(stored(event)), null);
});

test('to who comes later everything is sent with its own source, but nothings, recalls and former states', () => {
  for (const event of [userMessage('hi'), asked, errorObservation('oops', '')]) {
    assert.equal(replayText(stored(event), -1), stored(event).json);
  }
  for (const event of [nothing, recall, stateChanged('loading')]) {
    assert.equal(replayText(stored(event), 9), null);
  }
  assert.equal(replayText(stored(stateChanged('loading')), 7), stored(stateChanged('loading')).json);
});

test('a nothing is not sent whoever it is from', () => {
  const event = { id: 7, json: '{"id":7,"source":"agent","action":"null","args":{}}' };
  assert.deepEqual([liveText(event), replayText(event, -1)], [null, null]);
});
