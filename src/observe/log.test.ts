import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const printedBy = async (code: string) => {
  const script = `import { createLog, flushLog } from './src/observe/log.ts';
    import { Secret } from './src/secrets/secret.ts';
    const log = createLog('info'); ${code}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../', import.meta.url),
  });
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
