import type { Overrides } from '../config.ts';
import { readConfig } from '../config.ts';
import { expectDataDirectory } from '../data-directory.ts';
import { StartError } from '../start-error.ts';
import { type Storage, openStorage } from '../storage/storage.ts';
import { parseAudit } from './audit.ts';
import { parseFeedback } from './feedback.ts';
import { HELP } from './help.ts';
import * as keys from './keys.ts';
import { OPERATIONS } from './operations.ts';
import { parse } from './options.ts';
import { type Terminal, UsageError } from './terminal.ts';
import * as users from './users.ts';

/** A command on the database, which a running server may have open too. */
type Command = (storage: Storage, terminal: Terminal, dataDir: string) => Promise<void>;

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Command>> = {
  'keys create': keys.parseCreate,
  'keys list': keys.parseList,
  'keys revoke': keys.parseRevoke,
  'users list': users.parseList,
  'users disable': (args) => users.parseDisable(args, true),
  'users enable': (args) => users.parseDisable(args, false),
  'users erase': users.parseErase,
  audit: parseAudit,
  feedback: parseFeedback,
};

export interface Environment {
  terminal: Terminal;
  /** Serves until it is told to stop; gives the exit code. */
  serve: (overrides: Overrides) => Promise<number>;
  env?: NodeJS.ProcessEnv;
}

/** Runs a command line; gives the exit code: 0 done, 1 could not be done, 2 not understood. */
export async function run(argv: readonly string[], { terminal, serve, env }: Environment): Promise<number> {
  try {
    const [first = 'help', second = ''] = argv;
    if (['help', '--help', '-h'].includes(first)) {
      terminal.out(HELP);
      return 0;
    }
    if (first === 'serve') return await serve(serveOptions(argv.slice(1)));
    const named = [`${first} ${second}`, first];
    const operation = named.find((words) => Object.hasOwn(OPERATIONS, words));
    if (operation !== undefined) {
      const parsed = (await OPERATIONS[operation]?.())?.(argv.slice(operation === first ? 1 : 2));
      return (await parsed?.({ terminal, env })) ?? 1;
    }
    const name = named.find((words) => Object.hasOwn(COMMANDS, words));
    const command = name === undefined ? undefined : COMMANDS[name];
    if (!command) throw new UsageError(`There is no command "${`${first} ${second}`.trim()}".`);
    await onStorage(command(argv.slice(name === first ? 1 : 2)), terminal, env);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.note(`parley: ${error.message} "parley help" shows what there is.`);
      return 2;
    }
    const explained = explain(error);
    if (explained === null) throw error;
    terminal.note(`parley: ${explained}`);
    return 1;
  }
}

function serveOptions(args: readonly string[]): Overrides {
  const { values } = parse(args, { host: { type: 'string' }, port: { type: 'string' } });
  return values;
}

async function onStorage(
  command: Command,
  terminal: Terminal,
  env: NodeJS.ProcessEnv | undefined,
): Promise<void> {
  const { dataDir } = readConfig(env);
  expectDataDirectory(dataDir);
  const storage = await openStorage(dataDir);
  try {
    await command(storage, terminal, dataDir);
  } finally {
    await storage.close();
  }
}

/** What a person can act on; null for a fault of ours, which is better seen with its stack. */
function explain(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const known = ['StartError', 'DatabaseTooNew', 'DataDirectoryInUse', 'ServiceError'];
  if (error instanceof StartError || known.includes(error.name)) return error.message;
  switch ('code' in error ? error.code : '') {
    case 'EADDRINUSE':
      return `The address is in use (${error.message}). Stop what listens there, or choose another PORT.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine does not have the address (${error.message}). Choose another HOST.`;
    case 'EACCES':
      return `Not allowed (${error.message}). Ports below 1024 need more rights; choose another PORT.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `There is no room left (${error.message}). Free some space, then try again.`;
    case 'ERR_SQLITE_ERROR':
      return `The database cannot be used: ${error.message}.`;
    default:
      return null;
  }
}
