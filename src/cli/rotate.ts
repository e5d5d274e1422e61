import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { expectDataDirectory } from '../data-directory.ts';
import { keyFits, type KeySource, openVault, sealSentinel, type SentinelStore } from '../secrets/key-file.ts';
import { changeKeyFile, dropOldKey, type Tell } from '../secrets/rotation.ts';
import { StartError } from '../start-error.ts';
import { type Reseal, resealDatabase } from '../storage/reseal.ts';
import { inspectDatabase } from '../storage/snapshot.ts';
import { DATABASE_FILE, lockDataDirectory, openStorage } from '../storage/storage.ts';
import type { Operation } from './operation.ts';
import { parse } from './options.ts';

const HOW_WITH_A_GIVEN_KEY = `The key is given as PARLEY_SECRET_KEY, so it is yours to change. Nothing was changed. To do so:
  1. Make a new key: openssl rand -base64 32
  2. Give it as PARLEY_SECRET_KEY, and the present one as PARLEY_SECRET_KEY_PREVIOUS. A server starts with both.
  3. Stop the server and call "parley secrets rotate" again: all is sealed anew with the new key.
  4. Take PARLEY_SECRET_KEY_PREVIOUS away, and start the server.`;

/** `secrets rotate [--key-file NEW]`: seals all that is stored anew, with another key. */
export function parseRotate(args: readonly string[]): Operation {
  const { values } = parse(args, { 'key-file': { type: 'string' } });
  const from = values['key-file'] ?? null;
  return async ({ terminal, env }) => {
    const { dataDir, secretKey: given, previousSecretKey: previous } = readConfig(env);
    if (given && from !== null) throw new StartError(`--key-file is of no use here. ${HOW_WITH_A_GIVEN_KEY}`);
    if (given && !previous) throw new StartError(HOW_WITH_A_GIVEN_KEY);
    const tell: Tell = (line) => terminal.note(line);
    expectDataDirectory(dataDir);
    const lock = lockDataDirectory(dataDir);
    try {
      const { meta } = inspectDatabase(join(dataDir, DATABASE_FILE));
      if (keyFits({ dataDir, given, previous }, meta) !== true) throw nothingToRotate(meta.size > 0);
      if (!given) changeKeyFile(dataDir, from, tell);
      await sealAnew({ dataDir, given, previous }, tell);
      if (given) terminal.note('All is sealed with PARLEY_SECRET_KEY. PARLEY_SECRET_KEY_PREVIOUS can go.');
      else dropOldKey(dataDir, tell);
      return 0;
    } finally {
      lock.release();
    }
  };
}

async function sealAnew(keys: KeySource, tell: Tell): Promise<void> {
  const { dataDir } = keys;
  const storage = await openStorage(dataDir);
  const { read, transact } = storage;
  try {
    const sentinel: SentinelStore = {
      get: (name) => read.meta.get(name),
      set: (name, value) => transact(({ meta }) => meta.set(name, value)),
    };
    const vault = await openVault({ ...keys, sentinel });
    const reseal: Reseal = (sealed, binding) =>
      vault.sealsLike(sealed) ? null : vault.seal(vault.open(sealed, binding), binding);
    let count = 0;
    await resealDatabase(dataDir, reseal, (replaced) => {
      count += replaced;
      if (replaced > 0) tell(`${count} values are sealed anew.`);
    });
    await sealSentinel(vault, sentinel);
  } finally {
    await storage.close();
  }
  tell('Nothing is sealed with the old key any more.');
}

function nothingToRotate(there: boolean): StartError {
  return new StartError(
    there
      ? 'The key at hand does not open what is stored, so it cannot be sealed anew. Nothing was changed.'
      : 'Nothing is stored yet, so there is nothing to seal anew.',
  );
}
