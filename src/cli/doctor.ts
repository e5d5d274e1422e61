import { type Config, readConfig } from '../config.ts';
import { type Check, fail, looked, ok } from '../doctor/check.ts';
import { checkDatabase, checkDataDirectory, checkKey } from '../doctor/data.ts';
import { checkClock, checkNamespaces, checkNode, checkPrograms } from '../doctor/machine.ts';
import { checkListening, checkOutside, checkServer } from '../doctor/network.ts';
import { checkSandbox } from '../doctor/sandbox.ts';
import { StartError } from '../start-error.ts';
import type { Operation } from './operation.ts';
import { parse } from './options.ts';
import type { Terminal } from './terminal.ts';

/** `doctor [--json] [--online]`: looks at everything and changes nothing, beside a running server or without one. */
export function parseDoctor(args: readonly string[]): Operation {
  const { values } = parse(args, {
    json: { type: 'boolean', default: false },
    online: { type: 'boolean', default: false },
  });
  return async ({ terminal, env }) => {
    const checks = await examine(env, values.online);
    if (values.json) terminal.out(JSON.stringify(checks, null, 2));
    else print(checks, terminal);
    return checks.some(({ status }) => status === 'fail') ? 1 : 0;
  };
}

async function examine(env: NodeJS.ProcessEnv | undefined, online: boolean): Promise<Check[]> {
  const { config, checks } = configuration(env);
  checks.unshift(...checkNode());
  if (config === null) return checks;
  const { dataDir, secretKey: given, previousSecretKey: previous } = config;
  checks.push(...(await looked('data directory', () => checkDataDirectory(dataDir))));
  const { checks: database, facts } = checkDatabase(dataDir);
  checks.push(...database);
  checks.push(...(await looked('secret key', () => checkKey({ dataDir, given, previous }, facts))));
  checks.push(...checkClock(facts?.newest ?? null));
  checks.push(...(await looked('programs', () => checkPrograms(config.sandbox.kind !== 'none'))));
  checks.push(...(await looked('user namespaces', checkNamespaces)));
  checks.push(...(await looked('sandbox', () => checkSandbox(config))));
  checks.push(...checkListening(config), ...(await looked('server', () => checkServer(config))));
  if (online) checks.push(...(await looked('outside', checkOutside)));
  return checks;
}

/** Every problem of the configuration; what else is looked at then goes by the defaults and the data directory. */
function configuration(env: NodeJS.ProcessEnv = process.env): { config: Config | null; checks: Check[] } {
  const name = 'configuration';
  try {
    return { config: readConfig(env), checks: [ok(name, 'every variable is right')] };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const [, ...lines] = error.message.split('\n');
    const advice = 'docs/configuration.md lists all variables.';
    const checks = (lines.length > 0 ? lines : [error.message]).map((line) =>
      fail(name, line.trim(), advice),
    );
    const kept = ['PARLEY_DATA_DIR', 'PARLEY_DATA_DIR_FILE'].flatMap((variable) =>
      env[variable] === undefined ? [] : [[variable, env[variable]]],
    );
    try {
      return { config: readConfig(Object.fromEntries(kept) as NodeJS.ProcessEnv), checks };
    } catch {
      return { config: null, checks };
    }
  }
}

function print(checks: readonly Check[], terminal: Terminal): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, status, detail, advice } of checks) {
    const line = `${status.padEnd(4)}  ${name.padEnd(width)}  ${detail.replaceAll('\n', ' ')}`;
    terminal.out(advice === '' ? line : `${line}. ${advice}`.replace('.. ', '. '));
  }
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
  terminal.out(`${count('ok')} ok, ${count('warn')} to know of, ${count('fail')} to mend`);
}
