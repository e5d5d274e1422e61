import { observation } from '../../events/build.ts';
import type { ActionEvent } from '../../events/event.ts';
import type { WorkspaceFiles } from '../../sandbox/workspace-files.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { pathIn, readText, refusal } from './text-file.ts';
import { MAX_OBSERVATION, wholeCharacters } from './text.ts';

const MAX_ENTRIES = 500;

/** Shows a file or a directory of the workspace. */
export async function readFile(action: ActionEvent<'read'>, bench: Bench): Promise<Result> {
  const { view_range: range } = action.args;
  const { files, root } = await bench.sandbox();
  const path = pathIn(root, action.args.path);
  const stat = await files.stat(path);
  if (!stat.ok) return wrong(refusal(path, stat.why, stat.detail));
  const shown =
    stat.value.kind === 'directory' ? await directory(files, path) : await file(files, path, range);
  if (!shown.ok) return wrong(shown.problem);
  return observation(
    'agent',
    'read',
    shown.text,
    { path: action.args.path, impl_source: 'oh_aci' },
    { message: `I read the file ${action.args.path}.` },
  );
}

type Shown = { ok: true; text: string } | { ok: false; problem: string };

async function file(files: WorkspaceFiles, path: string, range: [number, number] | null): Promise<Shown> {
  const read = await readText(files, path);
  if (!read.ok) return read;
  if (read.text === '') return { ok: true, text: `${path} is empty.` };
  const lines = linesOf(read.text);
  const [first, last] = range ?? [1, -1];
  if (first > lines.length) {
    return { ok: false, problem: `${path} has ${lines.length} lines; line ${first} is not there.` };
  }
  return { ok: true, text: numbered(lines.slice(first - 1, last === -1 ? undefined : last), first) };
}

/** Lines without their ends; a final line end begins no line. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** As `cat -n` writes it, from line `first` on; cut after as many lines as an observation takes. */
export function numbered(lines: readonly string[], first: number): string {
  const room = MAX_OBSERVATION - 200;
  const shown: string[] = [];
  let length = 0;
  for (const [n, line] of lines.entries()) {
    const text = `${String(first + n).padStart(6)}\t${line}`;
    length += text.length + 1;
    if (length > room) {
      if (shown.length === 0) shown.push(`${text.slice(0, wholeCharacters(text, room))} [the line goes on]`);
      const next = first + shown.length;
      shown.push(`[… cut here; see the rest with view_range [${next}, ${first + lines.length - 1}] …]`);
      break;
    }
    shown.push(text);
  }
  return shown.join('\n');
}

/** Two levels deep, without hidden files and what programs install. */
async function directory(files: WorkspaceFiles, path: string): Promise<Shown> {
  const root = path.replace(/\/+$/, '') || '/';
  const top = await files.list(root, MAX_ENTRIES);
  if (!top.ok) return { ok: false, problem: refusal(path, top.why, top.detail) };
  const lines = [`${root}/`];
  for (const { name, kind } of top.value.filter(shownInLists).sort(byName)) {
    lines.push(`${root}/${name}${kind === 'directory' ? '/' : ''}`);
    if (kind !== 'directory' || lines.length > MAX_ENTRIES) continue;
    const below = await files.list(`${root}/${name}`, MAX_ENTRIES);
    if (!below.ok) continue;
    for (const entry of below.value.filter(shownInLists).sort(byName)) {
      lines.push(`${root}/${name}/${entry.name}${entry.kind === 'directory' ? '/' : ''}`);
    }
  }
  const cut = lines.length > MAX_ENTRIES || top.value.length >= MAX_ENTRIES;
  const text = lines
    .slice(0, MAX_ENTRIES)
    .join('\n')
    .slice(0, MAX_OBSERVATION - 200);
  const head = `Files and directories in ${root}, two levels deep, without hidden ones and node_modules:`;
  return {
    ok: true,
    text: `${head}\n${text}${cut ? '\n[… there are more; look into a directory below …]' : ''}`,
  };
}

function shownInLists({ name }: { name: string }): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
