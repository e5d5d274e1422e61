import { z } from 'zod';

import { runAction } from './shell.ts';
import { quoted } from './text.ts';
import { defineTool, riskOf, securityRisk } from './tool.ts';

const MAX_MATCHES = 200;
const directory = z
  .string()
  .optional()
  .describe('Absolute path of the directory to search; the working directory when not given.');

/** Of ReadOnlyAgent, as commands of the shell: what is recorded is what runs. */
export const grep = defineTool({
  name: 'grep',
  description: `Finds the lines of text files that match a POSIX extended regular expression, as path:line number:line; ${MAX_MATCHES} at most. Skips binary files and .git.`,
  input: z.object({
    pattern: z.string().min(1).describe('A POSIX extended regular expression.'),
    path: directory,
    include: z.string().optional().describe('Only files whose names match this, e.g. *.ts'),
    security_risk: securityRisk,
  }),
  action({ pattern, path = '.', include, security_risk }, thought) {
    if (/[\0\n]/.test(pattern)) return 'The pattern has a line break or a NUL character, which no line has.';
    const only = include === undefined ? '' : ` --include=${quoted(include)}`;
    const command = `grep -rHnIE --exclude-dir=.git${only} -e ${quoted(pattern)} -- ${quoted(path)} | cut -c -500 | head -n ${MAX_MATCHES}`;
    return runAction(command, thought, { risk: riskOf(security_risk) });
  },
});

export const glob = defineTool({
  name: 'glob',
  description: `Lists the files whose paths match a pattern: * within a name, ** across directories, e.g. **/*.ts; ${MAX_MATCHES} at most.`,
  input: z.object({
    pattern: z.string().min(1).describe('The pattern, relative to path.'),
    path: directory,
    security_risk: securityRisk,
  }),
  action({ pattern, path = '.', security_risk }, thought) {
    if (/[\0\n]/.test(pattern))
      return 'The pattern has a line break or a NUL character, which no path here has.';
    // Expanded from a variable, a pattern is only ever a pattern: nothing in it is run.
    const command = `(cd -- ${quoted(path)} && shopt -s globstar nullglob && IFS= && p=${quoted(pattern)} && for f in $p; do [ -e "$f" ] && printf '%s\\n' "$f"; done | head -n ${MAX_MATCHES})`;
    return runAction(command, thought, { risk: riskOf(security_risk) });
  },
});
