import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { CommandOutcome, ExecOptions } from '../sandbox.ts';
import { pastItsTime } from '../../../test/support/past-its-time.ts';
import { MARK_VARIABLE, killMarked } from '../unconfined/marked-processes.ts';
import { prepareRunDirectory } from './run-directory.ts';
import { Shell } from './shell.ts';
import type { ShellProcess } from './shell.ts';

interface Place {
  run: string;
  home: string;
  workdir: string;
  /** What must end before the directories can go. */
  closing: (() => Promise<void>)[];
}

/** The supervisor as a plain process in a session of its own: what the shell does needs no sandbox to be tested. */
function startSupervisor({ run, home, workdir }: Place): ShellProcess & { pid: number } {
  const child = spawn('bash', ['--norc', '--noprofile', join(run, 'lib/supervisor.sh')], {
    cwd: workdir,
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: home,
      LANG: 'C.UTF-8',
      GIVEN: 'by the service',
      [MARK_VARIABLE]: run,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const pid = child.pid ?? assert.fail('bash did not start');
  const exited = new Promise<{ reason: string }>((resolve) => {
    child.once('exit', (code, signal) => {
      void killMarked(run).then(() => resolve({ reason: `it ended with ${signal ?? code}` }));
    });
  });
  return { pid, stdin: child.stdin, stdout: child.stdout, kill: () => child.kill('SIGKILL'), exited };
}

async function makePlace(t: TestContext): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), 'shell test '));
  const place: Place = {
    run: join(root, 'run'),
    home: join(root, 'home'),
    workdir: join(root, 'workspace'),
    closing: [],
  };
  await Promise.all([mkdir(place.home), mkdir(place.workdir)]);
  t.after(async () => {
    await Promise.all(place.closing.map((close) => close()));
    await rm(root, { recursive: true, force: true });
  });
  return place;
}

async function open(place: Place) {
  await prepareRunDirectory(place.run, null);
  const supervisor = startSupervisor(place);
  const shell = await Shell.start({
    directory: place.run,
    owner: null,
    process: supervisor,
    processes: null,
    fileBytes: null,
    gatewaySocket: null,
    hidden: {},
    workdir: place.workdir,
    signal: AbortSignal.timeout(60_000),
  });
  place.closing.push(() => shell.close());
  const exec = (command: string, options: Partial<ExecOptions> = {}): Promise<CommandOutcome> =>
    shell.exec(command, { timeoutMs: 60_000, signal: new AbortController().signal, ...options });
  return { shell, exec, supervisor };
}

async function fresh(t: TestContext) {
  const place = await makePlace(t);
  return { place, ...(await open(place)) };
}

test('a command gives its output, code and directory', async (t) => {
  const { exec, place } = await fresh(t);
  assert.deepEqual(await exec('echo out; echo err >&2; exit 3'), {
    kind: 'exited',
    exitCode: 3,
    output: 'out\nerr\n',
    cwd: place.workdir,
  });
});

test('directory, variables, functions, aliases, options, umask and the last code go on', async (t) => {
  const { exec, place } = await fresh(t);
  const first = await exec(
    `mkdir -p 'a b' && cd 'a b'; export E=1; u='two words'; a=(x 'y z'); declare -A m=([k]=v); f() { echo "f $1"; }; export -f f
     alias hi='echo hello'; shopt -s nullglob; umask 027; unset GIVEN; OLD=$PWD; false`,
  );
  assert.equal(first.exitCode, 1);
  assert.equal(first.cwd, join(place.workdir, 'a b'));
  const { output } = await exec(
    'echo $? $E "$u" "${a[1]}" ${m[k]} ${GIVEN-gone}; f 1; hi; bash -c "f 2"; echo *.nothing; umask; pwd; env | grep -c ^u=',
  );
  assert.equal(output, `1 1 two words y z v gone\nf 1\nhello\nf 2\n\n0027\n${place.workdir}/a b\n0\n`);
});

test('what the service put into the environment is not written down', async (t) => {
  const { exec, place } = await fresh(t);
  await exec('x=1; echo $GIVEN');
  const state = await readFile(join(place.home, '.parley/shell'), 'utf8');
  assert.match(state, /declare -- x="1"/);
  assert.doesNotMatch(state, /by the service/);
});

test('exit, set -e, exec and a syntax error cost nothing but the command', async (t) => {
  const { exec } = await fresh(t);
  await exec('x=kept');
  assert.equal((await exec('set -e; false; echo not reached')).exitCode, 1);
  assert.equal((await exec('exec >/dev/null; echo x')).output, '');
  assert.equal((await exec('exec true')).exitCode, 0);
  const wrong = await exec('if; then');
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.output, /^bash: eval: line 1: syntax error/);
  assert.equal((await exec('echo $x')).output, 'kept\n');
});

test('output is exact, whatever the bytes and however it ends', async (t) => {
  const { exec } = await fresh(t);
  const chunks: Uint8Array[] = [];
  await exec(String.raw`for i in {0..255}; do printf "\\x$(printf %02x $i)"; done; printf '\x1e'`, {
    onOutput: (chunk) => void chunks.push(Uint8Array.from(chunk)),
  });
  const expected = Buffer.from([...Array.from({ length: 256 }, (_, byte) => byte), 0x1e]);
  assert.deepEqual(Buffer.concat(chunks), expected);
});

test('no more output is read while whoever takes it is not ready', async (t) => {
  const { exec } = await fresh(t);
  const ready = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  let [calls, bytes] = [0, 0];
  const running = exec('yes | head -c 3000000; echo $? >&2', {
    onOutput: (chunk) => {
      calls += 1;
      bytes += chunk.length;
      first.resolve();
      return ready.promise;
    },
  });
  await first.promise;
  // Another command goes its way meanwhile: the shell is not held up, only this output.
  assert.equal((await exec('echo beside')).output, 'beside\n');
  assert.equal(calls, 1);
  ready.resolve();
  assert.equal((await running).exitCode, 0);
  assert.equal(bytes, 3_000_002);
});

test('standard input is empty, or what was given', async (t) => {
  const { exec } = await fresh(t);
  assert.equal((await exec('cat; read x; echo $?')).output, '1\n');
  assert.equal((await exec('cat', { input: 'a\nb' })).output, 'a\nb');
  const long = 'x'.repeat(300_000);
  assert.equal((await exec('wc -c', { input: long })).output.trim(), '300000');
  assert.equal((await exec('true', { input: long })).exitCode, 0);
});

test('a long command runs as it stands', async (t) => {
  const { exec } = await fresh(t);
  const text = `${'ä'.repeat(100_000)}\n\n`;
  assert.equal((await exec(`printf %s '${text}' | wc -c`)).output.trim(), String(Buffer.byteLength(text)));
  const refused = await exec('echo a\0b');
  assert.equal(refused.exitCode, 2);
});

test('a command past its time is interrupted, its traps run, and the shell goes on', async (t) => {
  const { exec } = await fresh(t);
  const outcome = await pastItsTime(exec, 'x=1; cd /; echo begun; sleep 1000');
  assert.deepEqual([outcome.kind, outcome.exitCode, outcome.cwd], ['timed_out', 130, '/']);
  assert.equal((await exec('echo $x')).output, '1\n');
});

test('a command that ignores INT and TERM is killed, and the state before it stays', async (t) => {
  const { exec } = await fresh(t);
  await exec('cd /usr; x=1');
  const outcome = await pastItsTime(exec, "trap '' INT TERM; x=2; echo begun; while :; do sleep 1; done");
  assert.deepEqual([outcome.kind, outcome.exitCode, outcome.cwd], ['timed_out', 137, '/usr']);
  assert.equal((await exec('echo $x')).output, '1\n');
});

test('an abort ends the command with its children, background jobs and other sessions too', async (t) => {
  const { exec, place } = await fresh(t);
  const stop = new AbortController();
  const outcome = await exec('sleep 1000 & echo $! > a; setsid sleep 1000 & echo $! > b; echo up; wait', {
    signal: stop.signal,
    onOutput: () => stop.abort(),
  });
  assert.equal(outcome.kind, 'interrupted');
  for (const name of ['a', 'b']) {
    const pid = Number(await readFile(join(place.workdir, name), 'utf8'));
    const { output } = await exec(`while kill -0 ${pid} 2>/dev/null; do sleep 0.02; done; echo gone`);
    assert.equal(output, 'gone\n');
  }
  const late = await exec('echo', { signal: AbortSignal.abort() });
  assert.deepEqual([late.kind, late.exitCode], ['interrupted', -1]);
});

test('a background job outlives its command, and its late output goes nowhere', async (t) => {
  const { exec } = await fresh(t);
  const first = await exec(
    '{ while [ ! -e go ]; do sleep 0.01; done; echo late; echo done > done; } & echo $!',
  );
  assert.match(first.output, /^\d+\n$/);
  const { output } = await exec('touch go; while [ ! -e done ]; do sleep 0.01; done; cat done');
  assert.equal(output, 'done\n');
});

test('commands run side by side', async (t) => {
  const { exec } = await fresh(t);
  const waiting = exec('while [ ! -e flag ]; do sleep 0.01; done; echo seen');
  assert.equal((await exec('touch flag; echo set')).output, 'set\n');
  assert.equal((await waiting).output, 'seen\n');
});

test('a killed runner ends its command, a killed supervisor the shell', async (t) => {
  const { exec, shell, supervisor } = await fresh(t);
  const killed = await exec('kill -9 $$');
  assert.deepEqual([killed.kind, killed.exitCode], ['exited', 137]);
  const ended = await exec('kill -9 $PPID $$');
  assert.deepEqual([ended.kind, ended.exitCode], ['exited', -1]);
  assert.equal((await exec('echo on')).output, 'on\n');
  const lost = await exec(`echo last; kill -9 ${supervisor.pid} $PPID; sleep 1000 & kill -9 $$`);
  assert.deepEqual([lost.kind, lost.output, lost.reason], ['lost', 'last\n', 'it ended with SIGKILL']);
  assert.deepEqual(await shell.lost, { reason: 'it ended with SIGKILL' });
  assert.equal((await exec('echo')).kind, 'lost');
});

test('a frozen supervisor is noticed', async (t) => {
  const { exec, supervisor } = await fresh(t);
  const { kind, reason } = await exec(`kill -STOP ${supervisor.pid}; sleep 1000`);
  assert.deepEqual([kind, reason], ['lost', 'its shell stopped answering']);
});

test('state goes on in the next shell', async (t) => {
  const { exec, shell, place } = await fresh(t);
  await exec('x=1; mkdir d; cd d');
  await shell.close();
  const next = await open(place);
  const { output, cwd } = await next.exec('echo $x; pwd');
  assert.deepEqual([output, cwd], [`1\n${place.workdir}/d\n`, `${place.workdir}/d`]);
});

test('state too large to bring back is not kept, and what can be is', async (t) => {
  const { exec } = await fresh(t);
  await exec('small=1; big=$(head -c 2000000 /dev/zero | tr "\\0" x)');
  assert.equal((await exec('echo $small ${#big}')).output, '1 0\n');
  await exec('eval "f() { : $(head -c 6000000 /dev/zero | tr "\\0" x); }"; small=2');
  assert.equal((await exec('echo $small')).output, '1\n');
});

test('links and files in place of its own lead nowhere', async (t) => {
  const { exec, place } = await fresh(t);
  const victim = join(place.workdir, 'victim');
  await writeFile(victim, 'untouched');
  const { kind, reason } = await exec(
    `cd '${place.run}/x'; for n in {2..40}; do ln -s '${victim}' $n.out; ln -s '${victim}' $n.go; ln -s '${victim}' $n.in; done`,
  );
  assert.equal(kind, 'exited', reason);
  const next = await exec('echo x', { input: 'overwritten' });
  assert.deepEqual([next.kind, next.reason], ['lost', 'its files could not be made']);
  assert.equal(await readFile(victim, 'utf8'), 'untouched');
});

test('a state directory made into a link is made anew', async (t) => {
  const { exec } = await fresh(t);
  await exec('mkdir elsewhere; rm -rf ~/.parley; ln -s "$PWD/elsewhere" ~/.parley');
  await exec('x=1');
  await exec('x=2');
  assert.equal((await exec('echo $x; test -L ~/.parley; echo $?')).output, '2\n1\n');
});

test('a start that is given up leaves nothing', async (t) => {
  const place = await makePlace(t);
  await prepareRunDirectory(place.run, null);
  const supervisor = startSupervisor(place);
  const stop = new AbortController();
  stop.abort(new Error('not wanted'));
  const start = Shell.start({
    directory: place.run,
    owner: null,
    process: supervisor,
    processes: null,
    fileBytes: null,
    gatewaySocket: null,
    hidden: {},
    workdir: place.workdir,
    signal: stop.signal,
  });
  await assert.rejects(start, /not wanted/);
  assert.deepEqual(await supervisor.exited, { reason: 'it ended with SIGKILL' });
});
