import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type {
  CommandOutcome,
  ExecOptions,
  Sandbox,
  SandboxProvider,
  SandboxSpec,
} from '../../src/sandbox/sandbox.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { pastItsTime } from '../support/past-its-time.ts';
import { processesSaying, untilNoneSays, untilSomeSays } from '../support/processes.ts';

/** One provider under test, with directories of its own. */
export interface SandboxUnderTest {
  provider: SandboxProvider;
  /** The specification of sandbox `key`: its directories are the same each time, and it starts in the workspace. */
  spec(key: number, more?: Partial<SandboxSpec>): SandboxSpec;
  /** A command that kills every process of its sandbox at once, and nothing else. */
  killEverything: string;
  /** Whether no process can outlive the sandbox, whatever it does to hide. */
  confines: boolean;
  /** Closes the provider and removes the directories. */
  close(): PromiseLike<void>;
}

const TIMEOUT_MS = 60_000;
const MEGABYTE = 1024 * 1024;

/** Every provider of sandboxes keeps these promises. */
export function sandboxConformance(name: string, open: () => Promise<SandboxUnderTest>): void {
  describe(`${name} as a sandbox`, () => {
    let under: SandboxUnderTest;
    let lastKey = 0;

    before(async () => {
      under = await open();
    });
    after(async () => await under.close());

    async function withSandbox(
      act: (inside: Inside) => Promise<void>,
      more: Partial<SandboxSpec> = {},
    ): Promise<void> {
      lastKey += 1;
      const inside = await Inside.open(under, under.spec(lastKey, more));
      try {
        await act(inside);
      } finally {
        await inside.close();
      }
    }

    test('its report says that it works, and by what means', () => {
      const { report } = under.provider;
      assert.equal(report.ok, true, report.reason);
      assert.ok(report.checks.length > 0);
      for (const check of report.checks) assert.notEqual(check.detail, '', check.name);
    });

    test('a command gives output, code and directory', () =>
      withSandbox(async ({ exec, sandbox }) => {
        const { kind, exitCode, output, cwd } = await exec('echo out; echo err >&2; exit 3');
        assert.deepEqual([kind, exitCode, output, cwd], ['exited', 3, 'out\nerr\n', sandbox.root]);
      }));

    test('directory, variables, functions and aliases persist', () =>
      withSandbox(async ({ exec, sandbox }) => {
        await exec('mkdir -p "a b"; cd "a b"; export E=1; u=2; f() { echo "f $1"; }; alias hi="echo hello"');
        const { output, cwd } = await exec('echo $E $u; bash -c "echo $E \\$u"; f x; hi; pwd');
        assert.equal(cwd, `${sandbox.root}/a b`);
        assert.equal(output, `1 2\n1\nf x\nhello\n${cwd}\n`);
      }));

    test('exit, set -e and exec end their command alone', () =>
      withSandbox(async ({ exec }) => {
        await exec('x=kept');
        assert.equal((await exec('set -e; false; echo not reached')).exitCode, 1);
        assert.equal((await exec('exec sh -c "exit 4"')).exitCode, 4);
        assert.equal((await exec('echo $x')).output, 'kept\n');
      }));

    test('output is exact, byte for byte', () =>
      withSandbox(async ({ exec }) => {
        const chunks: Uint8Array[] = [];
        const onOutput = (chunk: Uint8Array): void => void chunks.push(Uint8Array.from(chunk));
        await exec(String.raw`for i in {0..255}; do printf "\\x$(printf %02x $i)"; done`, { onOutput });
        assert.deepEqual(Buffer.concat(chunks), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
        assert.equal((await exec('printf "no newline"')).output, 'no newline');
        assert.equal((await exec('printf "a\\n\\n"')).output, 'a\n\n');
        assert.equal(
          (await exec('echo x >/dev/stdout; echo y | tee /dev/stderr >/dev/null')).output,
          'x\ny\n',
        );
      }));

    test('standard input is empty, or what was given', () =>
      withSandbox(async ({ exec }) => {
        assert.equal((await exec('cat; read x; echo $?')).output, '1\n');
        assert.equal((await exec('cat', { input: 'given\nlines' })).output, 'given\nlines');
        assert.equal((await exec('wc -c', { input: 'x'.repeat(MEGABYTE) })).output.trim(), String(MEGABYTE));
      }));

    test('there is no terminal to ask for a password', () =>
      withSandbox(async ({ exec }) => {
        assert.notEqual((await exec('echo x >/dev/tty')).exitCode, 0);
      }));

    test('secrets are variables of the shell, and nothing of the host is', () =>
      withSandbox(
        async ({ exec }) => {
          assert.equal((await exec('echo $TOKEN; bash -c "echo \\$TOKEN"')).output, 'tell me\ntell me\n');
          assert.equal((await exec('env | grep -c ^NODE_TEST_CONTEXT=')).output, '0\n');
        },
        { env: { TOKEN: new Secret('tell me') } },
      ));

    test('git commits as the identity says', () =>
      withSandbox(
        async ({ exec }) => {
          const { output } = await exec(
            'git init -q . && git commit -q --allow-empty -m x && git log --format="%an <%ae>"',
          );
          assert.equal(output, 'Ann "Q" Äpfel <ann@example.org>\n');
        },
        { identity: { name: 'Ann "Q" Äpfel', email: 'ann@example.org' } },
      ));

    test('a command past its time is interrupted, and the shell goes on', () =>
      withSandbox(async ({ exec }) => {
        const outcome = await pastItsTime(exec, 'x=1; cd /; echo begun; sleep 1000');
        assert.deepEqual([outcome.kind, outcome.exitCode, outcome.cwd], ['timed_out', 130, '/']);
        assert.equal(outcome.output, 'begun\n');
        assert.equal((await exec('echo $x')).output, '1\n');
      }));

    test('a command that ignores INT and TERM is killed', () =>
      withSandbox(async ({ exec }) => {
        const outcome = await pastItsTime(exec, "trap '' INT TERM; echo begun; while :; do sleep 1; done");
        assert.deepEqual([outcome.kind, outcome.exitCode], ['timed_out', 137]);
        assert.equal((await exec('echo on')).output, 'on\n');
      }));

    test('a stop ends the command with its children', () =>
      withSandbox(async ({ exec, marker }) => {
        const stop = new AbortController();
        const { kind } = await exec(
          `sleep ${marker} & setsid sleep ${marker} & (trap '' INT TERM; sleep ${marker}; sleep ${marker}) & echo up; wait`,
          { signal: stop.signal, onOutput: () => stop.abort() },
        );
        assert.equal(kind, 'interrupted');
        await untilNoneSays(marker);
        assert.equal((await exec('echo not run', { signal: AbortSignal.abort() })).kind, 'interrupted');
        assert.equal((await exec('echo on')).output, 'on\n');
      }));

    test('a server in the background outlives its command, and what it says later harms nothing', () =>
      withSandbox(async ({ exec, marker }) => {
        const first = await exec(
          `{ until [ -e go ]; do sleep 0.01; done; echo late; touch said; sleep ${marker}; } & echo up`,
        );
        assert.equal(first.output, 'up\n');
        assert.equal(
          (await exec('touch go; until [ -e said ]; do sleep 0.01; done; echo next')).output,
          'next\n',
        );
        await untilSomeSays(`sleep\0${marker}`);
        const interrupted = await exec('sleep 1000', { timeoutMs: 50 });
        assert.equal(interrupted.kind, 'timed_out');
        assert.equal((await processesSaying(`sleep\0${marker}`)).length, 1);
      }));

    test('a program is spoken to line by line, its errors apart, and leaves the shell as it is', () =>
      withSandbox(
        async ({ exec, sandbox }) => {
          await exec('mkdir -p elsewhere; cd elsewhere; export FROM_SHELL=1');
          const said = collect();
          const program = await sandbox.launch(
            {
              command: 'bash',
              args: [
                '-c',
                'echo "${OWN-} ${TOKEN-none} ${FROM_SHELL-none} $PWD" >&2; while read -r line; do echo "heard $line"; done; exit 3',
              ],
              env: { OWN: new Secret("it's $mine") },
            },
            said,
          );
          program.input.write('one\n');
          await said.until('heard one\n');
          assert.equal((await exec('echo beside; pwd')).output, `beside\n${sandbox.root}/elsewhere\n`);
          program.input.end('two\n');
          assert.deepEqual(await program.ended, { exitCode: 3, lost: null });
          assert.equal(said.text(), 'heard one\nheard two\n');
          assert.equal(said.errors(), `it's $mine none none ${sandbox.root}\n`);
          assert.equal((await exec('echo $FROM_SHELL; pwd')).output, `1\n${sandbox.root}/elsewhere\n`);
        },
        { env: { TOKEN: new Secret('tell me') } },
      ));

    test('a program gives megabytes exactly, and no more than is taken', () =>
      withSandbox(async ({ sandbox }) => {
        const said = collect();
        const program = await sandbox.launch(
          { command: 'bash', args: ['-c', 'head -c 8000000 /dev/zero | tr "\\0" x; echo end >&2'], env: {} },
          said,
        );
        assert.deepEqual(await program.ended, { exitCode: 0, lost: null });
        assert.equal(said.text(), 'x'.repeat(8_000_000));
        assert.equal(said.errors(), 'end\n');
      }));

    test('a program that cannot be run ends at once, and says why', () =>
      withSandbox(async ({ sandbox, exec }) => {
        const said = collect();
        const program = await sandbox.launch({ command: 'no-such-program', args: [], env: {} }, said);
        assert.deepEqual(await program.ended, { exitCode: 127, lost: null });
        assert.match(said.errors(), /no-such-program/);
        assert.equal((await exec('echo on')).output, 'on\n');
      }));

    test('a program that is closed goes with all below it, even when it does not want to', () =>
      withSandbox(async ({ sandbox, marker, exec }) => {
        const said = collect();
        const program = await sandbox.launch(
          {
            command: 'bash',
            args: [
              '-c',
              `trap '' INT TERM; sleep ${marker} & setsid sleep ${marker} & echo up; sleep ${marker}`,
            ],
            env: {},
          },
          said,
        );
        await said.until('up\n');
        await program.close();
        assert.deepEqual(await program.ended, { exitCode: 137, lost: null });
        await untilNoneSays(marker);
        assert.equal((await exec('echo on')).output, 'on\n');
      }));

    test('a program ends with its sandbox, and none starts in one that is gone', () =>
      withSandbox(async ({ sandbox, marker }) => {
        const said = collect();
        const spec = { command: 'bash', args: ['-c', `echo up; sleep ${marker}; true`], env: {} };
        const program = await sandbox.launch(spec, said);
        await said.until('up\n');
        await sandbox.close();
        assert.notEqual((await program.ended).lost, null);
        await untilNoneSays(marker);
        await assert.rejects(sandbox.launch(spec, said), { code: 'sandbox_unavailable' });
      }));

    test('two commands run at once', () =>
      withSandbox(async ({ exec }) => {
        const waiting = exec('until [ -e flag ]; do sleep 0.01; done; echo seen');
        assert.equal((await exec('touch flag; echo set')).output, 'set\n');
        assert.equal((await waiting).output, 'seen\n');
      }));

    test('of 200 MB of output the middle is cut, and that is said', () =>
      withSandbox(async ({ exec }) => {
        let seen = 0;
        const { output, exitCode } = await exec(
          'echo first; head -c 200000000 /dev/zero | tr "\\0" x; echo; echo last',
          {
            onOutput: (chunk) => void (seen += chunk.length),
          },
        );
        assert.equal(exitCode, 0);
        assert.equal(seen, 200_000_012);
        assert.ok(output.length < 2 * MEGABYTE);
        assert.match(output.slice(0, 10), /^first\n/);
        assert.match(output.slice(-10), /x\nlast\n$/);
        assert.match(output, /\n\[\.\.\. \d+ bytes of output cut out here \.\.\.\]\n/);
      }));

    test('a sandbox that was killed is lost with a reason, and the next one opens', () =>
      withSandbox(async (inside) => {
        await inside.exec('x=1; echo text > file');
        const { kind, reason } = await inside.exec(`echo last; ${under.killEverything}`);
        assert.equal(kind, 'lost');
        assert.notEqual(reason ?? '', '');
        assert.notEqual((await inside.sandbox.ended).reason, '');
        assert.equal((await inside.exec('echo x')).kind, 'lost');
        await inside.reopen();
        assert.equal((await inside.exec('echo $x; cat file')).output, '1\ntext\n');
      }));

    test('a sandbox whose supervisor is frozen is lost, and killed', () =>
      withSandbox(async ({ exec, marker, sandbox }) => {
        const { kind, reason } = await exec(
          `read -r _ _ _ up _ </proc/$PPID/stat; kill -STOP $up; sleep ${marker}`,
        );
        assert.equal(kind, 'lost');
        assert.notEqual(reason ?? '', '');
        await sandbox.ended;
        await untilNoneSays(marker);
      }));

    test('workspace, home and the state of the shell outlive the sandbox', () =>
      withSandbox(async (inside) => {
        await inside.exec('echo w > file; echo h > ~/file; mkdir d; cd d; x=1; f() { echo f; }');
        await inside.close();
        await inside.reopen();
        const { output, cwd } = await inside.exec('cat ../file ~/file; echo $x; f');
        assert.equal(output, 'w\nh\n1\nf\n');
        assert.equal(cwd, `${inside.sandbox.root}/d`);
      }));

    test('the first command stands in the directory that the specification names', () =>
      withSandbox(async (inside) => {
        await inside.exec('mkdir project');
        await inside.close();
        lastKey += 1;
        const { workspace } = inside.spec;
        const other = await Inside.open(
          under,
          under.spec(lastKey, { workspace, workdir: '/workspace/project' }),
        );
        assert.equal((await other.exec('pwd')).output, `${other.sandbox.root}/project\n`);
        await other.close();
      }));

    test('commands and the service see the same files', () =>
      withSandbox(async ({ exec, sandbox: { files, root } }) => {
        await exec('mkdir d; echo from inside > d/file; ln -s /etc/passwd out');
        const read = await files.read(`${root}/d/file`, 100);
        assert.equal(read.ok && Buffer.from(read.value).toString(), 'from inside\n');
        assert.equal((await files.write(`${root}/new/file`, Buffer.from('from outside'))).ok, true);
        assert.equal(
          (await exec('cat new/file; echo more >> new/file; cat new/file')).output,
          'from outsidefrom outsidemore\n',
        );
        const out = await files.read(`${root}/out`, 100_000);
        assert.equal(out.ok ? 'ok' : out.why, 'outside_workspace');
      }));

    test('in a read-only workspace nothing is written for the editor', () =>
      withSandbox(
        async ({ exec, sandbox: { files, root } }) => {
          const written = await files.write(`${root}/file`, Buffer.from('x'));
          assert.equal(written.ok ? 'ok' : written.why, 'not_permitted');
          if (under.confines) assert.notEqual((await exec('touch file')).exitCode, 0);
          assert.equal((await exec('echo x > ~/file; cat ~/file')).output, 'x\n');
        },
        { readOnlyWorkspace: true },
      ));

    test('a close leaves no process', () =>
      withSandbox(async (inside) => {
        const { marker, exec } = inside;
        await exec(`sleep ${marker} & setsid sleep ${marker} & (setsid sleep ${marker} &) & disown -a`);
        if (under.confines) await exec(`env -i setsid sleep ${marker} &`);
        const running = exec(`sleep ${marker}`);
        await untilSomeSays(marker);
        await inside.close();
        await untilNoneSays(marker);
        assert.equal((await running).kind, 'lost');
        assert.equal((await inside.exec('echo x')).kind, 'lost');
      }));

    test('a discard removes what commands have left, however it is closed', () =>
      withSandbox(async (inside) => {
        await inside.exec('mkdir -p a/b; touch a/b/c; chmod 0 a/b a; ln -s / ~/link');
        await inside.close();
        await under.provider.discard(inside.spec);
        await assert.rejects(readdir(inside.spec.workspace), { code: 'ENOENT' });
        await assert.rejects(readdir(inside.spec.home), { code: 'ENOENT' });
      }));

    test('a start that is stopped rejects with why', async () => {
      const stop = new AbortController();
      stop.abort(new Error('not wanted'));
      lastKey += 1;
      await assert.rejects(under.provider.open(under.spec(lastKey), stop.signal), /not wanted/);
    });
  });
}

/** A sandbox that can be opened again, and a text that its processes can carry in their arguments. */
class Inside {
  readonly spec: SandboxSpec;
  /** A time to sleep that nobody else has in mind. */
  readonly marker = `1000.${randomInt(1e9, 1e10)}`;
  readonly #under: SandboxUnderTest;
  #sandbox: Sandbox;

  private constructor(under: SandboxUnderTest, spec: SandboxSpec, sandbox: Sandbox) {
    this.#under = under;
    this.spec = spec;
    this.#sandbox = sandbox;
  }

  static async open(under: SandboxUnderTest, spec: SandboxSpec): Promise<Inside> {
    return new Inside(under, spec, await under.provider.open(spec, AbortSignal.timeout(TIMEOUT_MS)));
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  readonly exec = (command: string, options: Partial<ExecOptions> = {}): Promise<CommandOutcome> =>
    this.#sandbox.exec(command, { timeoutMs: TIMEOUT_MS, signal: new AbortController().signal, ...options });

  async reopen(): Promise<void> {
    this.#sandbox = await this.#under.provider.open(this.spec, AbortSignal.timeout(TIMEOUT_MS));
  }

  close(): Promise<void> {
    return this.#sandbox.close();
  }
}

/** Takes what a program says. */
function collect() {
  let [output, errors] = ['', ''];
  let heard = (): void => {};
  return {
    onOutput(chunk: Uint8Array): void {
      output += Buffer.from(chunk).toString();
      heard();
    },
    onErrors(chunk: Uint8Array): void {
      errors += Buffer.from(chunk).toString();
    },
    text: () => output,
    errors: () => errors,
    async until(text: string): Promise<void> {
      while (!output.includes(text)) await new Promise<void>((resolve) => (heard = resolve));
    },
  };
}
