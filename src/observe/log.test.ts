import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';

const cwd = new URL('../../', import.meta.url);
const argsFor = (code: string) => {
  const script = `import { createLog, flushLog } from './src/observe/log.ts';
    import { Secret } from './src/secrets/secret.ts';
    const log = createLog('info'); ${code}`;
  return ['--input-type=module', '--eval', script];
};

const printedBy = async (code: string) => {
  const { stdout } = await promisify(execFile)(process.execPath, argsFor(code), { cwd });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

test('every line is an object with level and time, in order, and a secret in it is hidden', async () => {
  const [first, second, ...rest] = await printedBy(
    "log.debug('not seen'); log.info({ key: new Secret('hunter2') }, 'one'); log.warn('two'); await flushLog(log);",
  );
  assert.deepEqual([first?.['level'], first?.['msg'], first?.['key']], ['info', 'one', '<secret_hidden>']);
  assert.deepEqual([second?.['level'], second?.['msg'], rest], ['warn', 'two', []]);
  assert.ok(!Number.isNaN(Date.parse(String(first?.['time']))));
});

test('what was logged just before the process ended is written', async () => {
  const lines = await printedBy(
    "log.info('one'); setImmediate(() => { log.info('two'); process.exit(0); });",
  );
  const said = new Set(lines.map(({ msg }) => msg));
  assert.deepEqual(said, new Set(['one', 'two']));
});

test('a line is written without more, soon after it was logged', async () => {
  assert.deepEqual(await saidWhileAlive("log.info('one'); setInterval(() => {}, 60_000);", 1), ['one']);
});

test('an error and what came before it are written though the process does nothing more', async () => {
  const stuck = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
  const code = `log.info('one'); log.error('two'); ${stuck}`;
  assert.deepEqual(await saidWhileAlive(code, 2), ['one', 'two']);
});

/** The first messages of a process that does not end by itself. */
async function saidWhileAlive(code: string, count: number): Promise<unknown[]> {
  const child = spawn(process.execPath, argsFor(code), { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const said: unknown[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    said.push((JSON.parse(line) as Record<string, unknown>)['msg']);
    if (said.length === count) child.kill('SIGKILL');
  }
  await exited;
  return said;
}
