import type { CommandOutcome, ExecOptions, Program, Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { FileResult, WorkspaceFiles } from '../../../src/sandbox/workspace-files.ts';

type Entry = { name: string; kind: 'file' | 'directory' | 'other' };

/** A workspace in memory: paths as seen inside. Folders are where files are. */
export class FakeFiles implements WorkspaceFiles {
  readonly content = new Map<string, Uint8Array>();

  put(path: string, text: string | Uint8Array): this {
    this.content.set(path, typeof text === 'string' ? Buffer.from(text) : text);
    return this;
  }

  text(path: string): string | undefined {
    const bytes = this.content.get(path);
    return bytes && Buffer.from(bytes).toString('utf8');
  }

  async read(path: string, maxBytes: number): Promise<FileResult<Uint8Array>> {
    const stat = await this.stat(path);
    if (!stat.ok) return stat;
    if (stat.value.kind !== 'file') return { ok: false, why: 'not_a_file', detail: '' };
    if (stat.value.size > maxBytes) return { ok: false, why: 'too_large', detail: '' };
    return { ok: true, value: this.content.get(path) ?? new Uint8Array() };
  }

  async write(path: string, content: Uint8Array): Promise<FileResult<void>> {
    if (!path.startsWith('/workspace/')) return { ok: false, why: 'outside_workspace', detail: '' };
    this.content.set(path, content);
    return { ok: true, value: undefined };
  }

  async list(path: string, maxEntries: number): Promise<FileResult<Entry[]>> {
    const entries = new Map<string, Entry>();
    for (const file of this.content.keys()) {
      if (!file.startsWith(`${path}/`)) continue;
      const [name = '', ...rest] = file.slice(path.length + 1).split('/');
      entries.set(name, { name, kind: rest.length > 0 ? 'directory' : 'file' });
    }
    if (entries.size === 0) return { ok: false, why: 'not_found', detail: '' };
    return { ok: true, value: [...entries.values()].slice(0, maxEntries) };
  }

  async stat(path: string): Promise<FileResult<{ kind: Entry['kind']; size: number }>> {
    if (path !== '/workspace' && !path.startsWith('/workspace/')) {
      return { ok: false, why: 'outside_workspace', detail: '' };
    }
    const bytes = this.content.get(path);
    if (bytes) return { ok: true, value: { kind: 'file', size: bytes.length } };
    const listed = await this.list(path, 1);
    return listed.ok ? { ok: true, value: { kind: 'directory', size: 0 } } : listed;
  }
}

type Exec = (
  command: string,
  options: ExecOptions,
) => Partial<CommandOutcome> | Promise<Partial<CommandOutcome>>;

/** Runs nothing: says what the test has it say, and remembers what it was asked. */
export class FakeSandbox implements Sandbox {
  readonly root = '/workspace';
  readonly files = new FakeFiles();
  readonly ended = new Promise<{ reason: string }>(() => {});
  readonly commands: string[] = [];
  readonly options: ExecOptions[] = [];
  exec_: Exec = (command) => ({ output: `ran ${command}\n` });

  async exec(command: string, options: ExecOptions): Promise<CommandOutcome> {
    this.commands.push(command);
    this.options.push(options);
    const outcome = await this.exec_(command, options);
    return { kind: 'exited', exitCode: 0, output: '', cwd: '/workspace', ...outcome };
  }

  launch(): Promise<Program> {
    return Promise.reject(new Error('no program is started here'));
  }

  async close(): Promise<void> {}
}
