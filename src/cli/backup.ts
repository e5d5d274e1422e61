import { backUp } from '../backup/backup.ts';
import { restore } from '../backup/restore.ts';
import { readConfig } from '../config.ts';
import type { Operation } from './operation.ts';
import { parse } from './options.ts';
import type { Terminal } from './terminal.ts';

/** As many names are said as a person reads; the rest is counted. */
const MOST_NAMES = 20;

/** `backup FILE [--without-key]`: beside a running server or without one. */
export function parseBackup(args: readonly string[]): Operation {
  const { values, words } = parse(args, { 'without-key': { type: 'boolean', default: false } }, ['FILE']);
  const [file = ''] = words;
  return async ({ terminal, env }) => {
    const { dataDir, secretKey: given, previousSecretKey: previous } = readConfig(env);
    const left = new LeftOut(terminal);
    const { bytes, opening } = await backUp({
      dataDir,
      file,
      keys: { dataDir, given, previous },
      withKey: !values['without-key'],
      leftOut: (path, why) => left.tell(path, why),
    });
    left.end();
    terminal.note(`${file} has all of ${dataDir}: ${bytes} bytes.`);
    if (opening.key !== 'included') {
      const where = opening.key === 'PARLEY_SECRET_KEY' ? 'PARLEY_SECRET_KEY' : 'the file secret-key';
      terminal.note(
        `The key of the stored secrets is not in it: keep ${where}, or they are lost with this machine.`,
      );
    }
    return 0;
  };
}

/** `restore FILE`: into the empty directory that PARLEY_DATA_DIR names. */
export function parseRestore(args: readonly string[]): Operation {
  const [file = ''] = parse(args, {}, ['FILE']).words;
  return async ({ terminal, env }) => {
    const { dataDir, secretKey: given, previousSecretKey: previous } = readConfig(env);
    const { opening, keyFits } = await restore({ dataDir, file, keys: { dataDir, given, previous } });
    terminal.note(`${dataDir} is as it was at ${opening.createdAt}: "parley serve" goes on from there.`);
    if (keyFits === false) {
      terminal.note(
        'The key of the stored secrets was not in the backup: before the start, put the file secret-key there or give PARLEY_SECRET_KEY.',
      );
    }
    return 0;
  };
}

class LeftOut {
  readonly #terminal: Terminal;
  #count = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  tell(path: string, why: string): void {
    this.#count += 1;
    if (this.#count <= MOST_NAMES) this.#terminal.note(`Not as it was: ${JSON.stringify(path)}: ${why}.`);
  }

  end(): void {
    if (this.#count > MOST_NAMES) this.#terminal.note(`And ${this.#count - MOST_NAMES} more.`);
  }
}
