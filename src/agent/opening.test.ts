import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TASK_TYPES, type ConversationBody } from '../contract/conversations.ts';
import { PROVIDERS } from '../contract/providers.ts';
import { isAction } from '../events/event.ts';
import { openingOf, titleOf } from './opening.ts';
import { suggestedTaskPrompt } from './prompts/suggested-task.ts';

const ID = 'abcdef0123';

function first(request: ConversationBody): { title: string; text: string | null; images: string[] | null } {
  const { title, message } = openingOf(ID, request);
  const args = message && isAction(message, 'message') ? message.args : null;
  return { title, text: args?.content ?? null, images: args?.image_urls ?? null };
}

test('what a user says first is the text and the images of the request, or nothing', () => {
  assert.deepEqual(first({}), { title: 'Conversation abcde', text: null, images: null });
  assert.deepEqual(first({ initial_user_msg: 'Fix it\nnow' }), {
    title: 'Fix it',
    text: 'Fix it\nnow',
    images: [],
  });
  const image = 'https://example.com/a.png';
  assert.deepEqual(first({ image_urls: [image] }), {
    title: 'Conversation abcde',
    text: '',
    images: [image],
  });
});

test('a title is the first line that says something, at most 50 characters', () => {
  assert.equal(titleOf('\n---\n  Mend \t the   door \nplease'), 'Mend the door');
  assert.equal(titleOf('a'.repeat(50)), 'a'.repeat(50));
  assert.equal(titleOf('a'.repeat(51)), `${'a'.repeat(49)}…`);
  assert.equal(Array.from(titleOf('😀a'.repeat(100)) ?? '').length, 50);
  assert.equal(titleOf(' \n!?\n'), null);
});

test('a suggested task is its prompt, whatever its type and provider, and is called by its title and number', () => {
  for (const task_type of TASK_TYPES) {
    for (const git_provider of PROVIDERS) {
      const task = { git_provider, task_type, repo: 'o/r', issue_number: 42, title: 'The door squeaks' };
      const { title, text } = first({ suggested_task: task });
      assert.equal(text, suggestedTaskPrompt(task));
      assert.equal(title, 'The door squeaks #42');
    }
  }
});

test('a message beside a suggested task is not lost', () => {
  const suggested_task = {
    git_provider: 'github' as const,
    task_type: 'OPEN_ISSUE' as const,
    repo: 'o/r',
    issue_number: 1,
    title: 't',
  };
  assert.match(first({ suggested_task, initial_user_msg: 'Mind the cat.' }).text ?? '', /Mind the cat\.$/);
});

test('a microagent without a message has a prompt from repository and title; with one the message stands', () => {
  const create_microagent = { repo: 'o/r', title: 'Releases' };
  const { title, text } = first({ create_microagent });
  assert.equal(title, 'Microagent: Releases');
  assert.match(text ?? '', /o\/r[^]*"Releases"[^]*\.openhands\/microagents\/<name>\.md/);
  assert.match(first({ create_microagent: { repo: 'o/r' } }).text ?? '', /o\/r/);
  assert.equal(first({ create_microagent, initial_user_msg: 'Mine.' }).text, 'Mine.');
});
