import { ensureUser, USER_NAME } from '../auth/keys.ts';
import { DEFAULT_USER } from '../auth/store.ts';
import { readConfig } from '../config.ts';
import { expectDataDirectory } from '../data-directory.ts';
import { importOpenHands, type ImportReport } from '../import-openhands/import.ts';
import { OpenHandsHome } from '../import-openhands/read-home.ts';
import { openVault } from '../secrets/key-file.ts';
import { SettingsService } from '../settings/service.ts';
import { openStorage } from '../storage/storage.ts';
import type { Operation } from './operation.ts';
import { parse } from './options.ts';
import { type Terminal, UsageError } from './terminal.ts';

/** `import-openhands DIR [--user NAME]`: beside a running server or without one. */
export function parseImport(args: readonly string[]): Operation {
  const { values, words } = parse(args, { user: { type: 'string', default: DEFAULT_USER } }, ['DIR']);
  const [directory = ''] = words;
  if (!USER_NAME.test(values.user)) throw new UsageError(`"${values.user}" is no name of a user.`);
  return async ({ terminal, env }) => {
    const { dataDir, secretKey: given, previousSecretKey: previous } = readConfig(env);
    expectDataDirectory(dataDir);
    const home = new OpenHandsHome(directory);
    const storage = await openStorage(dataDir);
    try {
      const { read, transact } = storage;
      const vault = await openVault({
        dataDir,
        given,
        previous,
        sentinel: {
          get: (name) => read.meta.get(name),
          set: (name, value) => transact(({ meta }) => meta.set(name, value)),
        },
      });
      const settings = new SettingsService({ read: read.settings, transact, vault, fetch: noCalls });
      const { id } = await transact(({ keys }) => ensureUser(keys, values.user));
      const user = { userId: id, userName: values.user, keyId: 'import-openhands' };
      tell(await importOpenHands({ home, user, read, transact, vault, settings }), values.user, terminal);
      return 0;
    } finally {
      await storage.close();
    }
  };
}

function tell(report: ImportReport, user: string, terminal: Terminal): void {
  for (const line of report.leftOut) terminal.note(`Left out: ${line}`);
  terminal.out(`User: ${user}`);
  terminal.out(`Settings: ${report.settings.join(', ') || 'nothing'}`);
  terminal.out(`Conversations: ${report.conversations} with ${report.events} events`);
  terminal.out(`There before: ${report.known} conversations`);
  terminal.out(`Left out: ${report.leftOut.length}`);
}

/** Tokens are stored as they are: nobody is asked about them. */
function noCalls(): Promise<never> {
  return Promise.reject(new Error('an import calls nobody'));
}
