import { z } from 'zod';

import type { NewAction, SecurityRisk } from '../../events/event.ts';
import { defineTool, riskOf, securityRisk } from './tool.ts';

const path = z.string().describe('Absolute path of the file or directory, e.g. /workspace/app/main.py');
const viewRange = z
  .array(z.int())
  .length(2)
  .optional()
  .describe('First and last line to show, counted from 1; -1 as the last means to the end.');

export const strReplaceEditor = defineTool({
  name: 'str_replace_editor',
  description: `Views, creates and edits text files in /workspace.

* \`view\`: a file with line numbers (all of it, or the lines of \`view_range\`), or a directory two levels deep.
* \`create\`: makes a file with \`file_text\`, missing directories included. Does not replace an existing file.
* \`str_replace\`: replaces \`old_str\`, which must stand in the file exactly once, whitespace included, by \`new_str\`. Take enough lines around the place to make it unique.
* \`insert\`: puts \`new_str\` in after line \`insert_line\`; 0 means before the first line.
* \`undo_edit\`: takes back the last edit that this tool made to the file.`,
  input: z.object({
    command: z.enum(['view', 'create', 'str_replace', 'insert', 'undo_edit']),
    path,
    file_text: z.string().optional().describe('For create: the content.'),
    old_str: z.string().optional().describe('For str_replace: the text to replace.'),
    new_str: z
      .string()
      .optional()
      .describe('For str_replace: what takes its place, nothing when not given. For insert: the text.'),
    insert_line: z.int().min(0).optional().describe('For insert: the line after which new_str goes.'),
    view_range: viewRange,
    security_risk: securityRisk,
  }),
  action(input, thought) {
    const risk = riskOf(input.security_risk);
    const problem = badPath(input.path);
    if (problem !== null) return problem;
    const { command } = input;
    if (command === 'view') return readAction(input.path, thought, input.view_range, risk);
    const missing = NEEDED[command].filter((member) => input[member] === undefined);
    if (missing.length > 0) return `${missing.join(' and ')} must be given for the command ${command}.`;
    return editAction({ ...input, command }, thought, risk);
  },
});

const NEEDED = {
  create: ['file_text'],
  str_replace: ['old_str'],
  insert: ['insert_line', 'new_str'],
  undo_edit: [],
} as const;

/** Of ReadOnlyAgent. */
export const view = defineTool({
  name: 'view',
  description:
    'Shows a file in /workspace with line numbers (all of it, or the lines of `view_range`), or a directory two levels deep.',
  input: z.object({ path, view_range: viewRange, security_risk: securityRisk }),
  action(input, thought) {
    return (
      badPath(input.path) ?? readAction(input.path, thought, input.view_range, riskOf(input.security_risk))
    );
  },
});

function badPath(given: string): string | null {
  if (given.includes('\0')) return 'The path has a NUL character.';
  if (given.startsWith('/')) return null;
  return `The path ${JSON.stringify(given)} is not absolute. Did you mean ${JSON.stringify(`/workspace/${given}`)}?`;
}

function readAction(
  path: string,
  thought: string,
  range: number[] | undefined,
  risk: SecurityRisk,
): NewAction | string {
  const [first, last] = range ?? [];
  const whole = first === undefined || last === undefined;
  if (!whole && (first < 1 || (last !== -1 && last < first))) {
    return `view_range [${first}, ${last}] is not a range: the first line is 1, and the last is not before it (or is -1).`;
  }
  return {
    source: 'agent',
    message: `Reading file: ${path}`,
    action: 'read',
    args: {
      path,
      start: 0,
      end: -1,
      thought,
      impl_source: 'oh_aci',
      view_range: whole ? null : [first, last],
      security_risk: risk,
    },
  };
}

interface Edit {
  command: 'create' | 'str_replace' | 'insert' | 'undo_edit';
  path: string;
  file_text?: string | undefined;
  old_str?: string | undefined;
  new_str?: string | undefined;
  insert_line?: number | undefined;
}

function editAction(edit: Edit, thought: string, risk: SecurityRisk): NewAction {
  return {
    source: 'agent',
    message: '',
    action: 'edit',
    args: {
      path: edit.path,
      command: edit.command,
      file_text: edit.file_text ?? null,
      old_str: edit.old_str ?? null,
      new_str: edit.new_str ?? null,
      insert_line: edit.insert_line ?? null,
      content: '',
      start: 1,
      end: -1,
      thought,
      impl_source: 'oh_aci',
      security_risk: risk,
    },
  };
}
