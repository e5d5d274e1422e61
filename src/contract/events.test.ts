import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientAction, ENDING_ACTIONS, eventsQuery, INERT_ACTIONS, UNKNOWN_HERE } from './events.ts';

const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

test('images of a message are taken by the name that old clients have for them', () => {
  const args = { content: 'look' };
  for (const [given, images] of [
    [{ images_urls: [IMAGE] }, [IMAGE]],
    [{ image_urls: [IMAGE] }, [IMAGE]],
    [{ image_urls: [], images_urls: [IMAGE] }, []],
    [{}, undefined],
  ] as const) {
    const parsed = clientAction.parse({ action: 'message', args: { ...args, ...given } });
    assert.deepEqual(parsed.args, { ...args, image_urls: images });
  }
  const wrong = { action: 'message', args: { ...args, images_urls: ['file:///etc/passwd'] } };
  assert.ok(!clientAction.safeParse(wrong).success);
});

test('what a user has done by a tool holds nothing that could not be stored, however deep', () => {
  const took = (args: object) => clientAction.safeParse({ action: 'call_tool_mcp', args }).success;
  assert.ok(took({ name: 'n', arguments: { a: ['\u{1f600}', 1, null, { b: true }] } }));
  for (const bad of ['a\0b', '\ud800', '\udc00\ud800']) {
    for (const value of [bad, [bad], { a: [{ b: bad }] }, { [bad]: 1 }]) {
      assert.ok(!took({ name: 'n', arguments: { value } }), JSON.stringify(value));
    }
  }
});

test('what a user has done by a tool is as long as a file before and after an edit, and no longer', () => {
  const took = (args: object) => clientAction.safeParse({ action: 'edit', args }).success;
  const file = 'x'.repeat(2 * 1024 * 1024 - 100);
  assert.ok(took({ command: 'str_replace', path: '/workspace/a', old_str: file, new_str: file }));
  assert.ok(!took({ command: 'create', path: '/workspace/a', file_text: file + file + file }));
  assert.ok(!took({ anything: Array.from({ length: 3 }, () => file) }));
});

test('any action of V0 is one a client may add, with bounded arguments of any shape or none; no other name is', () => {
  const took = (body: object) => clientAction.safeParse(body).success;
  for (const action of [...UNKNOWN_HERE, ...INERT_ACTIONS, ...ENDING_ACTIONS]) {
    assert.deepEqual(clientAction.parse({ action }), { action, args: {} });
    assert.ok(took({ action, args: { anything: [1, { else: 'too' }] } }), action);
    for (const args of ['text', [], null, { a: 'a\0b' }, { a: '\ud800' }, { a: 'x'.repeat(5_000_000) }]) {
      assert.ok(!took({ action, args }), action);
    }
  }
  for (const action of ['no_such_action', 'Run', '', '__proto__', null])
    assert.ok(!took({ action, args: {} }));
});

test('a flag of a query is true or false, as languages write it', () => {
  const reversed = (reverse: string) => eventsQuery.safeParse({ reverse }).data?.reverse;
  for (const yes of ['true', 'True', 'TRUE', '1', 'yes', 'on']) assert.equal(reversed(yes), true, yes);
  for (const no of ['false', 'False', 'FALSE', '0', 'no', 'off']) assert.equal(reversed(no), false, no);
  for (const other of ['', 'maybe', '2', 'null']) assert.equal(reversed(other), undefined, other);
});
