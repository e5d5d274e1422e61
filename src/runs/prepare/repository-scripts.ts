import { runAction, runCommand } from '../../agent/tools/shell.ts';
import { errorObservation } from '../../events/build.ts';
import { type ActionEvent, isAction, isObservation, type NewEvent } from '../../events/event.ts';
import { notDone } from '../../events/not-done.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { TellPhase } from './phase.ts';
import { INSTALL_PRE_COMMIT } from './pre-commit-hook.ts';
import type { RunJournal } from '../journal.ts';
import { journalOf, openToPrepare, type Stand, type StretchOptions } from '../stand.ts';

/** What a repository may bring to be run once after its clone, before anyone works in it, in this order. */
const SCRIPTS: readonly Script[] = [
  {
    file: '.openhands/setup.sh',
    command: 'source .openhands/setup.sh',
    seconds: 600,
    status: 'STATUS$SETTING_UP_WORKSPACE',
    told: 'Running .openhands/setup.sh',
  },
  {
    file: '.openhands/pre-commit.sh',
    command: INSTALL_PRE_COMMIT,
    seconds: 60,
    status: 'STATUS$SETTING_UP_GIT_HOOKS',
    told: 'Installing .openhands/pre-commit.sh as a git hook',
  },
];

interface Script {
  /** In the repository; only where there is such a file. */
  file: string;
  command: string;
  seconds: number;
  status: string;
  told: string;
}

const INTERRUPTED =
  'The service was interrupted while this script of the repository ran, so its outcome is not known: it may have done all, a part or nothing of what it was to do. It was not run again.';

export async function findScripts(sandbox: Sandbox, directory: string): Promise<Script[]> {
  const found: Script[] = [];
  for (const script of SCRIPTS) {
    const entry = await sandbox.files.stat(`${sandbox.root}/${directory}/${script.file}`);
    if (entry.ok && entry.value.kind === 'file') found.push(script);
  }
  return found;
}

/**
 * Records that they are to be run, with the mark that the clone is done: from here on the clone is not made again, and
 * each script is run once or said not to have been.
 */
export async function recordScripts(
  { transact }: StretchOptions,
  { row }: Stand,
  scripts: readonly Script[],
): Promise<void> {
  if (scripts.length === 0) return;
  await transact(async ({ conversations, events, openActions }) => {
    const written = await events.append(row.key, scripts.map(actionOf), row.generation);
    for (const { id } of written) await openActions.set(row.key, id, 'recorded');
    await conversations.change(row.key, { prepared: true }, row.generation);
  });
}

/** Runs what is recorded and not begun. What a crash has interrupted is not run again: its outcome is unknown. */
export async function runScripts(options: StretchOptions, stand: Stand, phase: TellPhase): Promise<void> {
  const journal = journalOf(options, stand);
  for (const { eventId, state } of await journal.openActions()) {
    const [event] = await journal.read(eventId, 1);
    if (!event || !isAction(event, 'run') || event.source !== 'environment') continue;
    if (state === 'started') {
      await journal.answer([notDone(eventId, INTERRUPTED)]);
    } else {
      await runScript({ options, stand, journal, phase }, event);
    }
  }
}

async function runScript(
  at: { options: StretchOptions; stand: Stand; journal: RunJournal; phase: TellPhase },
  action: ActionEvent<'run'>,
): Promise<void> {
  const { options, stand, journal, phase } = at;
  const { signal } = stand;
  const script = SCRIPTS.find(({ command }) => command === action.args.command);
  signal.throwIfAborted();
  await phase(script?.status ?? 'STATUS$SETTING_UP_WORKSPACE', script?.told ?? 'Setting up the workspace');
  await journal.start(action.id);
  const result = await runCommand(action, { sandbox: () => openToPrepare(options, stand), signal });
  const observed: NewEvent = { ...result, source: 'environment', cause: action.id };
  await journal.answer([observed, ...failureTold(observed, script?.file ?? 'A script of the repository')]);
  signal.throwIfAborted();
}

function actionOf({ command, told, seconds }: Script): NewEvent {
  const action = runAction(command, '', { timeout: seconds });
  if (action.action !== 'run') throw new TypeError('runAction made another action');
  return {
    ...action,
    source: 'environment',
    message: told,
    args: { ...action.args, blocking: true, hidden: true },
  };
}

/** Pages hide what a script printed; that it failed, its user is to see. The conversation goes on. */
function failureTold(observed: NewEvent, file: string): NewEvent[] {
  if (!isObservation(observed, 'run') || observed.success) return [];
  const { exit_code, suffix } = observed.extras.metadata;
  const how = exit_code === -1 ? suffix.trim() : `It ended with exit code ${exit_code}.`;
  const end = observed.content.trim().slice(-500);
  return [
    errorObservation(
      `${file} failed; the conversation goes on without what it was to set up. ${how}${end && `\n${end}`}`,
      '',
    ),
  ];
}
