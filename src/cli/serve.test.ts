import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);

/** A real process of the program, or of a script, and all it has printed. */
class Program {
  readonly #process: ChildProcess;
  readonly exited: Promise<number | null>;
  out = '';
  notes = '';

  /** @param stdout a descriptor, when what it prints there is not to be read */
  constructor(args: readonly string[], env: Record<string, string>, stdout: 'pipe' | number = 'pipe') {
    this.#process = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { PATH: '/usr/bin:/bin', HOME: tmpdir(), ...env },
      stdio: ['ignore', stdout, 'pipe'],
    });
    this.#process.stdout?.on('data', (chunk) => (this.out += String(chunk)));
    this.#process.stderr?.on('data', (chunk) => (this.notes += String(chunk)));
    this.exited = once(this.#process, 'close').then(([code]) => code as number | null);
  }

  /** Waits until it has printed something like this, or has ended. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.out + this.notes);
      if (found) return found;
      if (this.#process.exitCode !== null) assert.fail(`it ended with: ${this.out}${this.notes}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }
}

describe('serve', () => {
  let dataDir: string;
  const programs: Program[] = [];
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-serve-'));
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.kill('SIGKILL');
      await program.exited;
    }
    rmSync(dataDir, { recursive: true });
  });

  const environment = () => ({ PORT: '0', PARLEY_DATA_DIR: dataDir, PARLEY_SANDBOX: 'none' });

  function start(env: Record<string, string> = {}, ...args: string[]): Program {
    const program = new Program(['src/main.ts', 'serve', ...args], { ...environment(), ...env });
    programs.push(program);
    return program;
  }
  const urlOf = async (program: Program) => (await program.printed(/Parley serves at (\S+)/))[1] ?? '';
  const status = async (url: string, key: string) =>
    (await fetch(`${url}/api/conversations`, { headers: { 'x-session-api-key': key } })).status;

  test('a first start needs nothing, shows a key once and keeps it; SIGTERM ends it with 0', async () => {
    const first = start();
    const url = await urlOf(first);
    const [key = ''] = await first.printed(/parley_[A-Za-z0-9_-]{43}/);
    assert.equal(readFileSync(join(dataDir, 'session-api-key'), 'utf8').trim(), key);
    assert.equal(await status(url, key), 200);
    assert.equal(await status(url, 'another'), 401);
    first.kill('SIGTERM');
    assert.equal(await first.exited, 0);
    assert.ok(!first.out.includes(key), 'the log has no key');
    for (const line of first.out.trim().split('\n')) assert.doesNotThrow(() => JSON.parse(line));

    chmodSync(join(dataDir, 'secret-key'), 0o644);
    const second = start();
    assert.equal(await status(await urlOf(second), key), 200);
    second.kill('SIGINT');
    assert.equal(await second.exited, 0);
    assert.match(second.out, /secret-key has mode 644: others can read it\. Call: chmod 600 /);
    assert.ok(!first.out.includes('has mode'));
    assert.ok(!second.notes.includes(key), 'the key is not shown again');
  });

  test('a terminal that is closed stops it in order', async () => {
    const program = start();
    await urlOf(program);
    program.kill('SIGHUP');
    assert.equal(await program.exited, 0);
    assert.match(program.out, /"signal":"SIGHUP","msg":"stopping"/);
  });

  test('SIGTERM ends it though its log cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const program = new Program(['src/main.ts', 'serve'], environment(), full);
    programs.push(program);
    closeSync(full);
    const url = await urlOf(program);
    assert.equal(await status(url, 'another'), 401, 'it serves');
    program.kill('SIGTERM');
    assert.equal(await program.exited, 0);
  });

  test('what is made beside a running server counts at once, and so does what is revoked', async () => {
    const url = await urlOf(start());
    const parley = async (...args: string[]) => {
      const program = new Program(['src/main.ts', ...args], { PARLEY_DATA_DIR: dataDir });
      assert.equal(await program.exited, 0, program.notes);
      return program;
    };
    const key = (await parley('keys', 'create', '--user', 'bob')).out.trim().split('\n').at(-1) ?? '';
    assert.equal(await status(url, key), 200);
    const id = /(\w+) +bob/.exec((await parley('keys', 'list')).out)?.[1] ?? '';
    await parley('keys', 'revoke', id);
    assert.equal(await status(url, key), 401);
  });

  test('what a killed server had half written is gone after the next start', async () => {
    const first = start();
    await urlOf(first);
    first.kill('SIGKILL');
    await first.exited;
    const drafts = join(dataDir, 'workspaces', '.drafts');
    mkdirSync(drafts, { recursive: true });
    writeFileSync(join(drafts, 'half'), 'a fi');
    writeFileSync(join(dataDir, `secret-key.${first.pid}`), 'half a k');
    await urlOf(start());
    assert.deepEqual(readdirSync(join(dataDir, 'workspaces')), []);
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('secret-key')),
      ['secret-key'],
    );
  });

  test('two servers do not share a data directory', async () => {
    await urlOf(start());
    const second = start();
    assert.equal(await second.exited, 1);
    assert.match(second.notes, /^parley: Another Parley serves from /);
  });

  test('a port in use is said; the key that was made is shown all the same', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    try {
      const program = start({}, '--port', String((holder.address() as AddressInfo).port));
      assert.equal(await program.exited, 1);
      assert.match(program.notes, /\nparley: The address is in use .*\n$/);
      const key = readFileSync(join(dataDir, 'session-api-key'), 'utf8').trim();
      assert.ok(program.notes.includes(key));
    } finally {
      holder.close();
    }
  });

  test('with another key, without its key, or over what is no database it does not start and changes nothing', async () => {
    const first = start({ PARLEY_SECRET_KEY: Buffer.alloc(32, 1).toString('base64') });
    await urlOf(first);
    first.kill('SIGTERM');
    await first.exited;
    const other = start({ PARLEY_SECRET_KEY: Buffer.alloc(32, 2).toString('base64') });
    assert.equal(await other.exited, 1);
    assert.match(other.notes, /^parley: The key in PARLEY_SECRET_KEY is not the one .*\n$/);
    const without = start();
    assert.equal(await without.exited, 1);
    assert.match(without.notes, /^parley: The key file \S+ is gone/);
    assert.ok(!readdirSync(dataDir).includes('secret-key'));
    writeFileSync(join(dataDir, 'parley.db'), 'no database at all, but some text'.repeat(200));
    const damaged = start();
    assert.equal(await damaged.exited, 1);
    assert.match(damaged.notes, /^parley: The database cannot be used/);
  });

  test('a wrong configuration is refused in one message that names all of it', async () => {
    const program = start({ PARLEY_BOGUS: '1', PARLEY_SANDBOX: 'docker', PARLEY_RATE_LIMIT: 'fast' });
    assert.equal(await program.exited, 1);
    assert.match(program.notes, /PARLEY_BOGUS .*\n(.*\n)*.*PARLEY_SANDBOX .*\n(.*\n)*.*PARLEY_RATE_LIMIT /);
    assert.ok(!/^ +at /m.test(program.notes), 'no stack');
  });

  test('a second signal does not wait for what does not end', async () => {
    const program = new Program(
      [
        '--input-type=module',
        '--eval',
        `import { serve } from './src/cli/serve.ts';
         import { readConfig } from './src/config.ts';
         const never = new Promise(() => setInterval(() => {}, 1000));
         const app = { listen: () => Promise.resolve('here'), close: () => never, newKey: null };
         const note = (line) => process.stderr.write(line + '\\n');
         await serve(readConfig({}), () => Promise.resolve(app), { out: note, note });`,
      ],
      {},
    );
    programs.push(program);
    await program.printed(/serves at here/);
    program.kill('SIGTERM');
    await program.printed(/"stopping"/);
    program.kill('SIGTERM');
    assert.equal(await program.exited, 1);
  });
});
