import { observation } from '../../events/build.ts';
import type { ActionEvent } from '../../events/event.ts';
import { HIDDEN } from '../../secrets/secret.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { unifiedDiff } from './diff.ts';
import { HIDDEN_IN_TEXT, MAX_FILE_BYTES, pathIn, readText, refusal } from './text-file.ts';
import { linesOf, numbered } from './view.ts';

/** Characters of a file up to which the log keeps it before and after an edit: what `undo_edit` needs. */
const MAX_KEPT = 200_000;
/** Lines shown around an edit. */
const AROUND = 4;

type Args = ActionEvent<'edit'>['args'];

/** What an edit makes of a file; `at` is the first line that changes, counted from 0. */
type Change = { ok: true; text: string; at: number; lines: number } | { ok: false; problem: string };

/** Writes a file of the workspace as the action says. What goes wrong is an observation, a sentence for the model. */
export async function editFile(action: ActionEvent<'edit'>, bench: Bench): Promise<Result> {
  const { args } = action;
  if ([args.file_text, args.new_str].some((text) => text?.includes(HIDDEN))) return wrong(HIDDEN_IN_TEXT);
  const { files, root } = await bench.sandbox();
  const path = pathIn(root, args.path);
  const read = await readText(files, path);
  if (!read.ok && !read.missing) return wrong(read.problem);
  const before = read.ok ? read.text : null;
  const change = changed(args, before, bench);
  if (!change.ok) return wrong(change.problem);
  const bytes = Buffer.from(change.text, 'utf8');
  if (bytes.length > MAX_FILE_BYTES) return wrong(refusal(args.path, 'too_large', ''));
  const written = await files.write(path, bytes);
  if (!written.ok) return wrong(refusal(args.path, written.why, written.detail));
  return edited(args, before, change);
}

function changed(args: Args, before: string | null, bench: Bench): Change {
  if (args.command === 'create') return create(args, before);
  if (before === null) return no(`There is no ${args.path}.`);
  switch (args.command) {
    case 'str_replace':
      return replace(args, before);
    case 'insert':
      return insert(args, before);
    default:
      return undo(args, before, bench);
  }
}

function no(problem: string): Change {
  return { ok: false, problem };
}

function create({ path, file_text: text }: Args, before: string | null): Change {
  if (before !== null) {
    return no(
      `${path} is there already, and create does not replace files. Edit it with str_replace or insert.`,
    );
  }
  return { ok: true, text: text ?? '', at: 0, lines: linesOf(text ?? '').length };
}

function replace({ path, old_str, new_str }: Args, before: string): Change {
  const [old, now] = inLineEndsOf(before, old_str ?? '', new_str ?? '');
  if (old === '') return no('old_str is empty. Use insert to add text.');
  if (old === now) return no('old_str and new_str are the same: there is nothing to replace.');
  const first = before.indexOf(old);
  if (first === -1) {
    return no(`old_str does not stand in ${path} exactly as given. View the file, and mind spaces and tabs.`);
  }
  if (before.includes(old, first + 1)) {
    const places = linesWith(before, old).join(', ');
    return no(
      `old_str stands in ${path} more than once, at lines ${places}. Take more lines around the place.`,
    );
  }
  const text = before.slice(0, first) + now + before.slice(first + old.length);
  return { ok: true, text, at: lineAt(before, first), lines: now.split('\n').length };
}

function insert({ path, insert_line: after, new_str: text }: Args, before: string): Change {
  const lines = before === '' ? [] : before.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const at = after ?? 0;
  if (at > lines.length) return no(`${path} has ${lines.length} lines; insert_line ${at} is beyond its end.`);
  const [given] = inLineEndsOf(before, text ?? '', '');
  const end = before.includes('\r\n') ? '\r\n' : '\n';
  const head = lines
    .slice(0, at)
    .map((line) => `${line}\n`)
    .join('');
  const tail = before.slice(head.length);
  // A last line without a line end would run into the text.
  const gap = head !== '' && before.length < head.length ? head.slice(0, -1) + end : head;
  const added = given.endsWith('\n') ? given : given + end;
  return { ok: true, text: gap + added + tail, at, lines: given.split('\n').length };
}

function undo({ path }: Args, before: string, bench: Bench): Change {
  const last = bench.edits.last(path);
  if (!last) return no(`No edit of ${path} is known that could be taken back.`);
  if (last.before === null) {
    return no(`The last edit of ${path} made the file. Remove it with the shell if it is not wanted.`);
  }
  if (last.before.includes(HIDDEN) || last.after.includes(HIDDEN)) {
    return no(`${path} has a secret in it, which no log keeps, so its last edit cannot be taken back.`);
  }
  if (last.after !== before) {
    return no(`${path} was changed by something else since its last edit, which so cannot be taken back.`);
  }
  const changedAt = firstDifference(before, last.before);
  return { ok: true, text: last.before, at: lineAt(before, changedAt), lines: 1 };
}

function edited(args: Args, before: string | null, change: Change & { ok: true }): Result {
  const { path, command } = args;
  const kept = (before?.length ?? 0) <= MAX_KEPT && change.text.length <= MAX_KEPT;
  return observation(
    'agent',
    'edit',
    command === 'create' ? `${path} is made.` : report(path, command, change),
    {
      path,
      prev_exist: before !== null,
      old_content: kept ? before : null,
      new_content: kept ? change.text : null,
      impl_source: 'oh_aci',
      diff: unifiedDiff(path, before, change.text),
      _diff_cache: null,
    },
    { message: `I edited the file ${path}.` },
  );
}

function report(path: string, command: Args['command'], { text, at, lines }: Change & { ok: true }): string {
  const from = Math.max(0, at - AROUND);
  const snippet = numbered(linesOf(text).slice(from, at + lines + AROUND), from + 1);
  const done = command === 'undo_edit' ? `The last edit of ${path} is taken back.` : `${path} is edited.`;
  return `${done} It now reads there:\n${snippet}`;
}

/** Models write \n; a file whose lines all end in \r\n stays one. */
function inLineEndsOf(file: string, ...texts: [string, string]): [string, string] {
  if (!file.includes('\r\n') || /(^|[^\r])\n/.test(file)) return texts;
  const [a, b] = texts.map((text) => text.replaceAll(/\r?\n/g, '\r\n'));
  return [a ?? '', b ?? ''];
}

function linesWith(text: string, part: string): number[] {
  const lines: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && lines.length < 20; at = text.indexOf(part, at + 1)) {
    lines.push(lineAt(text, at) + 1);
  }
  return lines;
}

/** The line that position `at` stands in, counted from 0. */
function lineAt(text: string, at: number): number {
  let line = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', end + 1)) line += 1;
  return line;
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
