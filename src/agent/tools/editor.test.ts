import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isObservation } from '../../events/event.ts';
import { problem, Workshop } from '../../../test/support/agent/act.ts';
import { strReplaceEditor as editor } from './editor.ts';

const PATH = '/workspace/a.txt';

function shopWith(text: string | Uint8Array, path = PATH): Workshop {
  const shop = new Workshop();
  shop.sandbox.files.put(path, text);
  return shop;
}

async function told(shop: Workshop, input: object): Promise<string> {
  const answer = await shop.call(editor, { path: PATH, ...input });
  assert.equal(answer.observation, 'error');
  return answer.content;
}

test('view numbers the lines of a file, or of a range', async () => {
  const shop = shopWith('one\ntwo\nthree\n');
  const whole = await shop.call(editor, { command: 'view', path: PATH });
  assert.equal(whole.content, '     1\tone\n     2\ttwo\n     3\tthree');
  const range = await shop.call(editor, { command: 'view', path: PATH, view_range: [2, -1] });
  assert.equal(range.content, '     2\ttwo\n     3\tthree');
  const last = await shop.call(editor, { command: 'view', path: PATH, view_range: [3, 99] });
  assert.equal(last.content, '     3\tthree');
});

test('view of a long file ends at a line and says how to see the rest', async () => {
  const shop = shopWith('0123456789\n'.repeat(10_000));
  const { content } = await shop.call(editor, { command: 'view', path: PATH });
  assert.ok(content.length <= 30_000);
  const shown = Number(/see the rest with view_range \[(\d+), 10000\]/.exec(content)?.[1]);
  assert.match(content, new RegExp(`\n *${shown - 1}\t0123456789\n\\[`));
});

test('view of a directory goes two levels deep and leaves out hidden names', async () => {
  const shop = shopWith('', '/workspace/app/src/deep/x.ts');
  shop.sandbox.files.put('/workspace/app/b.md', '').put('/workspace/app/.git/HEAD', '');
  shop.sandbox.files.put('/workspace/app/src/a.ts', '');
  const { content } = await shop.call(editor, { command: 'view', path: '/workspace/app' });
  assert.deepEqual(content.split('\n').slice(1), [
    '/workspace/app/',
    '/workspace/app/b.md',
    '/workspace/app/src/',
    '/workspace/app/src/a.ts',
    '/workspace/app/src/deep/',
  ]);
});

test('what cannot be viewed is told in a sentence', async () => {
  assert.match(await told(new Workshop(), { command: 'view' }), /There is no/);
  assert.match(await told(shopWith(Buffer.from([1, 0, 2])), { command: 'view' }), /binary/);
  assert.match(await told(shopWith(Buffer.from([0xe9, 0x20])), { command: 'view' }), /not UTF-8/);
  assert.match(await told(shopWith(Buffer.alloc(3_000_000, 'a')), { command: 'view' }), /larger than 2 MiB/);
  assert.match(await told(shopWith('a\n'), { command: 'view', view_range: [5, 6] }), /has 1 lines; line 5/);
  assert.match(
    await told(new Workshop(), { command: 'view', path: '/etc/passwd' }),
    /outside of \/workspace/,
  );
});

test('create makes a file with a diff, and replaces none', async () => {
  const shop = new Workshop();
  const answer = await shop.call(editor, { command: 'create', path: PATH, file_text: 'a\nb\n' });
  assert.ok(isObservation(answer, 'edit'));
  assert.deepEqual(answer.extras, {
    path: PATH,
    prev_exist: false,
    old_content: null,
    new_content: 'a\nb\n',
    impl_source: 'oh_aci',
    diff: `--- /dev/null\n+++ ${PATH}\n@@ -0,0 +1,2 @@\n+a\n+b`,
    _diff_cache: null,
  });
  assert.equal(shop.sandbox.files.text(PATH), 'a\nb\n');
  assert.match(await told(shop, { command: 'create', file_text: 'x' }), /is there already/);
});

test('str_replace changes the one place and shows it', async () => {
  const shop = shopWith('a\nb\nc\n');
  const answer = await shop.call(editor, {
    command: 'str_replace',
    path: PATH,
    old_str: 'b',
    new_str: 'B\nBB',
  });
  assert.equal(shop.sandbox.files.text(PATH), 'a\nB\nBB\nc\n');
  assert.ok(isObservation(answer, 'edit'));
  assert.equal(answer.extras.diff, `--- ${PATH}\n+++ ${PATH}\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c`);
  assert.match(answer.content, /\n {5}2\tB\n {5}3\tBB\n {5}4\tc$/);
});

test('str_replace without new_str removes the text', async () => {
  const shop = shopWith('abc');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: 'b' });
  assert.equal(shop.sandbox.files.text(PATH), 'ac');
});

test('str_replace takes dollar signs and other marks as they stand', async () => {
  const shop = shopWith('x');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: 'x', new_str: "$& $1 $' \\n" });
  assert.equal(shop.sandbox.files.text(PATH), "$& $1 $' \\n");
});

test('str_replace refuses what is not there, there twice (overlapping too), or the same', async () => {
  const shop = shopWith('aaa\nb\naaa\n');
  assert.match(await told(shop, { command: 'str_replace', old_str: 'z', new_str: 'y' }), /exactly as given/);
  assert.match(await told(shop, { command: 'str_replace', old_str: 'aaa', new_str: 'y' }), /lines 1, 3/);
  assert.match(
    await told(shopWith('aaa'), { command: 'str_replace', old_str: 'aa', new_str: 'y' }),
    /more than once/,
  );
  assert.match(await told(shop, { command: 'str_replace', old_str: 'b', new_str: 'b' }), /the same/);
  assert.match(await told(shop, { command: 'str_replace', old_str: '', new_str: 'b' }), /empty/);
});

test('a file with Windows line ends keeps them', async () => {
  const shop = shopWith('a\r\nb\r\nc\r\n');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: 'a\nb', new_str: 'x\ny\nz' });
  await shop.call(editor, { command: 'insert', path: PATH, insert_line: 1, new_str: 'in' });
  assert.equal(shop.sandbox.files.text(PATH), 'x\r\nin\r\ny\r\nz\r\nc\r\n');
});

test('insert puts text at the beginning, between lines, and at an end without a line end', async () => {
  const shop = shopWith('a\nb');
  await shop.call(editor, { command: 'insert', path: PATH, insert_line: 2, new_str: 'c' });
  await shop.call(editor, { command: 'insert', path: PATH, insert_line: 0, new_str: '0\n' });
  await shop.call(editor, { command: 'insert', path: PATH, insert_line: 2, new_str: 'a½' });
  assert.equal(shop.sandbox.files.text(PATH), '0\na\na½\nb\nc\n');
  assert.match(await told(shop, { command: 'insert', insert_line: 9, new_str: 'x' }), /beyond its end/);
});

test('undo_edit takes edits back one by one, and no further', async () => {
  const shop = shopWith('1');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: '1', new_str: '2' });
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: '2', new_str: '3' });
  await shop.call(editor, { command: 'undo_edit', path: PATH });
  assert.equal(shop.sandbox.files.text(PATH), '2');
  await shop.call(editor, { command: 'undo_edit', path: PATH });
  assert.equal(shop.sandbox.files.text(PATH), '1');
  assert.match(await told(shop, { command: 'undo_edit' }), /No edit/);
});

test('undo_edit does not destroy what something else wrote since', async () => {
  const shop = shopWith('1');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: '1', new_str: '2' });
  shop.sandbox.files.put(PATH, 'by the shell');
  assert.match(await told(shop, { command: 'undo_edit' }), /changed by something else/);
  assert.equal(shop.sandbox.files.text(PATH), 'by the shell');
});

test('the place of a hidden secret is not written to a file', async () => {
  const shop = shopWith('key=1\n');
  const text = 'key=<secret_hidden>';
  assert.match(await told(shop, { command: 'str_replace', old_str: 'key=1', new_str: text }), /not written/);
  assert.match(await told(shop, { command: 'create', path: '/workspace/b', file_text: text }), /not written/);
  assert.match(await told(shop, { command: 'insert', insert_line: 0, new_str: text }), /not written/);
  assert.equal(shop.sandbox.files.text(PATH), 'key=1\n');
});

test('undo_edit refuses to bring a hidden secret back', async () => {
  const shop = shopWith('x');
  await shop.call(editor, { command: 'str_replace', path: PATH, old_str: 'x', new_str: 'y' });
  const answer = shop.events.findLast((event) => isObservation(event, 'edit'));
  assert.ok(answer && isObservation(answer, 'edit'));
  answer.extras.old_content = '<secret_hidden>';
  shop.edits.add(answer);
  assert.match(await told(shop, { command: 'undo_edit' }), /secret/);
});

test('a large file is edited, and the log does not keep it whole', async () => {
  const shop = shopWith(`${'line\n'.repeat(60_000)}last`);
  const answer = await shop.call(editor, {
    command: 'str_replace',
    path: PATH,
    old_str: 'last',
    new_str: 'end',
  });
  assert.ok(isObservation(answer, 'edit'));
  assert.equal(answer.extras.new_content, null);
  assert.ok(JSON.stringify(answer).length < 5_000);
  assert.match(await told(shop, { command: 'undo_edit' }), /No edit/);
});

test('calls that lack what their command needs are told so', () => {
  assert.match(problem(editor, { command: 'create', path: PATH }), /file_text must be given/);
  assert.match(problem(editor, { command: 'insert', path: PATH }), /insert_line and new_str/);
  assert.match(problem(editor, { command: 'view', path: 'a.txt' }), /Did you mean "\/workspace\/a.txt"/);
  assert.match(problem(editor, { command: 'view', path: PATH, view_range: [3, 2] }), /not a range/);
  assert.match(problem(editor, { command: 'delete', path: PATH }), /command/);
});
