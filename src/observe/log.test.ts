import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
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

test('lines beyond a bound are left out while nobody reads, and counted', async () => {
  const logged = 60_000;
  const code = `for (let n = 0; n < ${logged}; n += 1) log.info({ n, pad: 'x'.repeat(100) });
    process.stderr.write('logged'); await flushLog(log); log.info('after');`;
  const child = spawn(process.execPath, argsFor(code), { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  await once(child.stderr, 'data');
  const lines: Record<string, unknown>[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));

  const kept = lines.filter(({ n }) => n !== undefined);
  assert.deepEqual(
    kept.map(({ n }) => n),
    Array.from(kept.keys()),
    'in order, from the first on',
  );
  const [missing, after, ...rest] = lines.slice(kept.length);
  assert.equal(
    missing?.['msg'],
    `${logged - kept.length} lines of the log are missing here: they could not be written`,
  );
  assert.ok(kept.length > 10_000 && kept.length < logged);
  assert.deepEqual([after?.['msg'], rest], ['after', []]);
});

describe('a process ends though its log cannot be written:', () => {
  const code = `log.info('x'.repeat(200_000)); log.error('two');
    setTimeout(() => { log.fatal('three'); process.exit(7); }, 100);`;

  test('the disk is full', async () => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, argsFor(code), { cwd, stdio: ['ignore', full.fd, 'inherit'] });
    assert.deepEqual(await once(child, 'exit'), [7, null]);
    await full.close();
  });

  test('nobody reads the pipe', async () => {
    const child = spawn(process.execPath, argsFor(code), { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    assert.deepEqual(await once(child, 'exit'), [7, null]);
    child.stdout.destroy();
  });
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
