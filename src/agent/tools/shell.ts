import { z } from 'zod';

import { observation } from '../../events/build.ts';
import type { ActionEvent, NewAction } from '../../events/event.ts';
import type { CommandOutcome } from '../../sandbox/sandbox.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { cutMiddle } from './text.ts';
import { defineTool, riskOf, securityRisk } from './tool.ts';

/** Seconds a command may take. */
const DEFAULT_TIMEOUT = 120;
const MAX_TIMEOUT = 3_600;

const seconds = z
  .number()
  .positive()
  .max(MAX_TIMEOUT)
  .optional()
  .describe(`Seconds until the command is ended; ${DEFAULT_TIMEOUT} when not given, ${MAX_TIMEOUT} at most.`);

export const executeBash = defineTool({
  name: 'execute_bash',
  description: `Runs a command in a bash shell in the sandbox and returns its output (standard output and error together) and exit code.

* The working directory, variables, functions, aliases and umask persist from one command to the next. Background jobs go on running, but job control (jobs, wait, fg), traps and shell options such as set -e do not carry over.
* There is no terminal. Programs that ask questions get the end of their input at once: use their options for running unattended (-y, --yes, --no-pager), or give the answers in \`stdin\`.
* A command that is still running after \`timeout\` seconds is ended, and its output so far returned. Start servers and other long-running programs in the background, with their output in a file: \`server >/tmp/server.log 2>&1 &\`.
* Output above 30,000 characters is cut in the middle. Filter or write to a file when you expect more.
* The only way out is an HTTP(S) proxy, already set in the environment.`,
  input: z.object({
    command: z.string().describe('The command; several may be joined with && or newlines.'),
    stdin: z
      .string()
      .optional()
      .describe('What the command reads on its standard input; empty when not given.'),
    timeout: seconds,
    is_input: z
      .union([z.boolean(), z.enum(['true', 'false'])])
      .optional()
      .describe('Not supported: commands take their whole input from stdin. Leave it out.'),
    security_risk: securityRisk,
  }),
  action({ command, stdin, timeout, is_input, security_risk }, thought) {
    if (is_input === true || is_input === 'true') {
      return 'No running program takes input: each command has a standard input of its own. Run the program again and give it all of its input in stdin.';
    }
    if (command.trim() === '') {
      return 'The command is empty. A command returns all of its output when it ends; there is none to wait for.';
    }
    return runAction(command, thought, {
      risk: riskOf(security_risk),
      ...(stdin === undefined ? {} : { stdin }),
      ...(timeout === undefined ? {} : { timeout }),
    });
  },
});

interface RunOptions {
  risk?: ReturnType<typeof riskOf>;
  stdin?: string;
  timeout?: number;
}

export function runAction(
  command: string,
  thought: string,
  { risk = -1, stdin, timeout }: RunOptions = {},
): NewAction {
  return {
    source: 'agent',
    message: `Running command: ${command}`,
    action: 'run',
    args: {
      command,
      is_input: false,
      ...(stdin === undefined ? {} : { stdin }),
      thought,
      blocking: false,
      is_static: false,
      cwd: null,
      hidden: false,
      confirmation_state: 'confirmed',
      security_risk: risk,
    },
    ...(timeout === undefined ? {} : { timeout }),
  };
}

export async function runCommand(
  action: ActionEvent<'run'>,
  bench: Pick<Bench, 'sandbox' | 'signal'>,
): Promise<Result> {
  const { command, stdin, hidden } = action.args;
  if (command.includes('\0')) {
    return wrong('The command has a NUL character, which no shell takes.');
  }
  const timeout = 'timeout' in action && action.timeout !== undefined ? action.timeout : DEFAULT_TIMEOUT;
  const sandbox = await bench.sandbox();
  const outcome = await sandbox.exec(command, {
    timeoutMs: Math.round(timeout * 1_000),
    signal: bench.signal,
    ...(stdin === undefined ? {} : { input: stdin }),
  });
  const exitCode = outcome.kind === 'timed_out' || outcome.kind === 'lost' ? -1 : outcome.exitCode;
  const told = `\n[${howItEnded(outcome, timeout)}]`;
  // Pages show the content alone, and that a limit was reached their user has to see.
  const isLost = outcome.kind === 'lost';
  const metadata = {
    exit_code: exitCode,
    pid: -1,
    username: 'agent',
    hostname: 'sandbox',
    working_dir: outcome.cwd,
    py_interpreter_path: null,
    prefix: '',
    suffix: isLost ? '' : told,
  };
  return observation(
    'agent',
    'run',
    cutMiddle(outcome.output) + (isLost ? told : ''),
    { command, metadata, hidden },
    { success: exitCode === 0, message: `Command \`${command}\` executed with exit code ${exitCode}.` },
  );
}

function howItEnded(outcome: CommandOutcome, timeout: number): string {
  switch (outcome.kind) {
    case 'timed_out':
      return `The command was ended because it still ran after ${timeout} seconds. Give it a longer timeout, or run it in the background with its output in a file.`;
    case 'interrupted':
      return 'The command was interrupted, because the conversation was stopped.';
    case 'lost':
      return `The sandbox ended while the command ran: ${(outcome.reason ?? 'no reason is known').replace(/\.$/, '')}. The next command gets a fresh one: files in /workspace and the home directory are kept, running programs and /tmp are gone.`;
    default:
      return `Exit code ${outcome.exitCode}, now in ${outcome.cwd}`;
  }
}
