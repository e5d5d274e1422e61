import type { Answer, Call } from '../model/answers.ts';
import { call, calls, gate, say } from '../model/answers.ts';
import type { ModelRequest } from '../model/script.ts';

/** One call of the scripted run, and how a model that is told "outcome unknown" looks and then does what is missing. */
interface Part {
  id: string;
  call: Omit<Call, 'id'>;
  repair: string;
}

/** Appends a line unless it is there: repeated, it does no harm. */
const ONCE = 'once() { grep -qx "$1" "$2" 2>/dev/null || echo "$1" >> "$2"; }; cd /workspace/app';

/** A command that first notes that it ran: a repetition shows as a second line. */
function command(id: string, text: string, repair: string): Part {
  return {
    id,
    call: { name: 'execute_bash', input: { command: `echo ${id} >> /workspace/ran; ${text}` } },
    repair: `${ONCE}; once ${id} /workspace/ran; ${repair}`,
  };
}

function edit(id: string, input: object, repair: string): Part {
  return { id, call: { name: 'str_replace_editor', input }, repair: `${ONCE}; ${repair}` };
}

const unneeded = 'true';
const work = '/workspace/app/work.txt';

/** What the model asks for, step by step. */
const STEPS: readonly (readonly Part[])[] = [
  [command('a', 'echo one >> work.txt', 'once one work.txt')],
  [edit('b', { command: 'view', path: work }, unneeded)],
  [
    edit(
      'c',
      { command: 'str_replace', path: work, old_str: 'one', new_str: 'ONE' },
      'sed -i s/one/ONE/ work.txt',
    ),
  ],
  [
    command('d', 'echo two >> two.txt', 'once two two.txt'),
    command('e', 'echo three >> three.txt', 'once three three.txt'),
  ],
  [command('f', 'mkdir -p new; cd new', unneeded)],
  [{ id: 'g', call: { name: 'think', input: { thought: 'Nearly there.' } }, repair: unneeded }],
  [
    edit(
      'h',
      { command: 'create', path: '/workspace/app/new/note.txt', file_text: 'noted\n' },
      'mkdir -p new; echo noted > new/note.txt',
    ),
  ],
  [
    command(
      'i',
      'cd /workspace/app; git add -A; git commit -qm "Work"',
      "find .git -name '*.lock' -delete; git add -A; git diff --cached --quiet || git commit -qm Work",
    ),
  ],
  [command('j', 'git push -q origin HEAD 2>&1', 'git push -q origin HEAD 2>&1')],
];

/** The step whose answer waits until the user's second message is acknowledged. */
const WAITS = 4;

/** What the user has done in the middle; nobody looks after it when its outcome is not known. */
export const MINE = 'echo mine >> /workspace/ran';
/** What `/workspace/ran` has at the end, but for the user's own, sorted: every command once. One that is looked after comes later than it was. */
export const RAN = ['a', 'd', 'e', 'f', 'i', 'j'];
/** What the pushed branch has at the end. */
export const PUSHED = {
  'a.txt': 'here\n',
  'new/note.txt': 'noted\n',
  'three.txt': 'three\n',
  'two.txt': 'two\n',
  'work.txt': 'ONE\n',
};

/** The gate of one run. */
export const saidGate = (name: string): string => `said-${name}`;

/**
 * Answers by what the request shows to have been asked already, without memory. The model's name says which run asks.
 */
export function failpointScript({ body }: ModelRequest): Answer {
  if (!body.tools?.length) return say('A title');
  const name = (body.model ?? '').split('/').at(-1) ?? '';
  const asked = body.messages.flatMap((message) => idsOf(message.tool_calls));
  const lost = unknownOutcomes(body.messages);
  if (lost.length > 0) return calls(lost.map((id) => repairOf(id, asked)));
  const next = STEPS.findIndex((parts) => parts.some(({ id }) => !asked.includes(id)));
  const step = STEPS[next];
  if (!step) return call('finish', { message: 'done' });
  const answer = calls(step.map((part) => ({ id: part.id, ...part.call })));
  return next === WAITS ? gate(saidGate(name), answer) : answer;
}

/** The calls whose outcome nobody knows, and that were not looked after yet. */
function unknownOutcomes(messages: ModelRequest['body']['messages']): string[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages
    .slice(last + 1)
    .filter(({ content }) => JSON.stringify(content ?? '').includes('outcome is not known'))
    .flatMap(({ tool_call_id }) => tool_call_id ?? []);
}

function repairOf(lost: string, asked: readonly string[]): Call {
  const id = lost.replace(/^repair_(\w+)_\d+$/, '$1');
  const part = STEPS.flat().find((one) => one.id === id);
  if (!part) throw new Error(`There is no call ${id}`);
  return {
    id: `repair_${id}_${asked.length}`,
    name: 'execute_bash',
    input: { command: part.repair },
  };
}

function idsOf(toolCalls: readonly unknown[] | undefined): string[] {
  return (toolCalls ?? []).flatMap((one) =>
    typeof one === 'object' && one !== null && 'id' in one && typeof one.id === 'string' ? [one.id] : [],
  );
}
