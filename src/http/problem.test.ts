import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationGone } from '../events/log.ts';
import { asServiceError } from './problem.ts';

test('who writes to a conversation that is removed meanwhile is told that it is not there', () => {
  const { code, status } = asServiceError(new ConversationGone('conversation 7 is not there'));
  assert.deepEqual([code, status], ['conversation_not_found', 404]);
});

test('what nobody expected says nothing of its inside', () => {
  const { code, message } = asServiceError(new Error('SELECT secret FROM settings'));
  assert.equal(code, 'internal');
  assert.doesNotMatch(message, /secret/);
});
