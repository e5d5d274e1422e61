import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { call, say } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readZip } from '../support/zip.ts';
import { storeGitToken } from '../support/stored.ts';

const FILES = {
  'keep.txt': 'as it was\n',
  'edit.txt': 'one\ntwo\n',
  'gone.txt': 'gone\n',
  'move.txt': 'a file that is moved, of some length\n',
  '.openhands/microagents/style.md':
    '---\nname: style\ntype: knowledge\ntriggers:\n- format\n- lint\n---\nUse two spaces.\n',
};

/** What the agent does: commits, leaves changes, and sets traps for whoever looks. */
const WORK = [
  'git mv move.txt moved.txt && git rm -q gone.txt && git commit -qm "Move and remove"',
  'git push -q origin HEAD 2>&1',
  'printf "one\\nTWO\\n" >edit.txt',
  'head -c 3000 /dev/urandom >binary.bin; printf "new\\n" >"ünt räcked.txt"; git add binary.bin',
  // Whatever runs one of these leaves a trace.
  'for x in diff.external core.fsmonitor diff.t.textconv; do git config $x "touch /workspace/ran-$x; cat"; done',
  'echo "*.txt diff=t" >.git/info/attributes',
  'git() { echo fake; }; alias git="echo fake"',
  'ln -s /etc/passwd /workspace/out; ln -s ../workspace /workspace/loop; ln -s app/keep.txt /workspace/in',
  'mkfifo /workspace/fifo; printf "\\377\\376x" >/workspace/latin; printf "a\\0b" >/workspace/nul',
  'truncate -s 60M /workspace/huge; mkdir /workspace/many; cd /workspace/many; seq 1 10000 | xargs touch',
].join('\n');

type Json = Record<string, unknown>;

describe('the files of a conversation', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  let scratch: string;

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'parley-files-'));
    forge = await startForge({ 'acme/app': { files: FILES } });
    model = await startModelServer(byTurn([call('execute_bash', { command: WORK }), say('Done.')], say('T')));
    parley = await startParley({ PARLEY_SANDBOX_DISK: '64M' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: 'sk-files',
      llm_base_url: model.baseUrl,
    });
    await storeGitToken(parley, forge);
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'c',
      repository: 'acme/app',
      git_provider: 'github',
      initial_user_msg: 'Work.',
    });
    await parley.until('c', ({ agent_state }) => agent_state === 'awaiting_user_input');
    await parley.ok('POST', '/api/conversations', { conversation_id: 'empty' });
    await parley.until('empty', ({ status }) => status === 'RUNNING');
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
    await rm(scratch, { recursive: true });
  });

  const get = (path: string, id = 'c') => parley.request('GET', `/api/conversations/${id}/${path}`);
  const bytesOf = async (path: string): Promise<{ status: number; headers: Headers; bytes: Buffer }> => {
    const response = await fetch(`${parley.url}/api/conversations/c/${path}`, {
      headers: { 'x-session-api-key': parley.key },
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  };
  const codeOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as Json)['code']];
  const upload = async (files: Record<string, string | Uint8Array<ArrayBuffer>>, id = 'c') => {
    const form = new FormData();
    for (const [name, content] of Object.entries(files)) form.append('files', new Blob([content]), name);
    const response = await fetch(`${parley.url}/api/conversations/${id}/upload-files`, {
      method: 'POST',
      headers: { 'x-session-api-key': parley.key },
      body: form,
    });
    return { status: response.status, body: (await response.json()) as Json };
  };

  /** The same whether the conversation runs or is stopped. */
  const lookAround = (): void => {
    it('are listed, folders first', async () => {
      const { body } = await get('list-files');
      assert.deepEqual(body, ['app/', 'many/', 'fifo', 'huge', 'in', 'latin', 'loop', 'nul', 'out']);
      assert.deepEqual((await get('list-files?path=app/.openhands')).body, ['app/.openhands/microagents/']);
      assert.equal(((await get('list-files?path=many')).body as string[]).length, 10_000);
      assert.deepEqual((await get('list-files', 'empty')).body, []);
    });

    it('are read as text where they are text, and not out of the workspace', async () => {
      assert.deepEqual((await get('select-file?file=app/keep.txt')).body, { code: 'as it was\n' });
      assert.deepEqual((await get('select-file?file=/workspace/in')).body, { code: 'as it was\n' });
      const refused: Record<string, [number, string]> = {
        out: [404, 'file_not_found'],
        'loop/../../etc/passwd': [404, 'file_not_found'],
        '../../../../etc/passwd': [404, 'file_not_found'],
        '/etc/passwd': [404, 'file_not_found'],
        '/proc/self/environ': [404, 'file_not_found'],
        'app/%00': [422, 'invalid_request'],
        nowhere: [404, 'file_not_found'],
        app: [404, 'file_not_found'],
        fifo: [404, 'file_not_found'],
        huge: [413, 'file_too_large'],
        latin: [415, 'file_is_binary'],
        nul: [415, 'file_is_binary'],
        'app/binary.bin': [415, 'file_is_binary'],
      };
      for (const [file, wanted] of Object.entries(refused)) {
        assert.deepEqual(codeOf(await get(`select-file?file=${file}`)), wanted, file);
      }
      assert.deepEqual(codeOf(await get('list-files?path=..')), [404, 'file_not_found']);
      assert.deepEqual(codeOf(await get('list-files?path=out')), [404, 'file_not_found']);
    });

    it('that changed are told against where the branch began, pushed or not', async () => {
      const { body } = await get('git/changes');
      assert.deepEqual(body, [
        { status: 'A', path: 'binary.bin' },
        { status: 'M', path: 'edit.txt' },
        { status: 'D', path: 'gone.txt' },
        { status: 'D', path: 'move.txt' },
        { status: 'A', path: 'moved.txt' },
        { status: 'A', path: 'ünt räcked.txt' },
      ]);
      assert.deepEqual((await get('git/diff?path=edit.txt')).body, {
        original: 'one\ntwo\n',
        modified: 'one\nTWO\n',
      });
      const added = `git/diff?path=${encodeURIComponent('ünt räcked.txt')}`;
      assert.deepEqual((await get(added)).body, { original: '', modified: 'new\n' });
      assert.deepEqual((await get('git/diff?path=gone.txt')).body, { original: 'gone\n', modified: '' });
      assert.deepEqual(codeOf(await get('git/diff?path=binary.bin')), [415, 'file_is_binary']);
      assert.deepEqual(codeOf(await get('git/diff?path=../../etc/passwd')), [404, 'file_not_found']);
      assert.deepEqual(codeOf(await get('git/changes', 'empty')), [404, 'not_a_repository']);
    });

    it('go out as a patch that makes of a fresh clone what stands in the workspace', async () => {
      const { status, headers, bytes } = await bytesOf('patch');
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/x-diff']);
      assert.equal(headers.get('content-disposition'), 'attachment; filename="c.patch"');
      const clone = await mkdtemp(join(scratch, 'clone-'));
      for (const [path, content] of Object.entries(FILES)) {
        await mkdir(join(clone, path, '..'), { recursive: true });
        await writeFile(join(clone, path), content);
      }
      execFileSync('git', ['apply', '-'], { cwd: clone, input: bytes });
      const tree = execFileSync('find', ['.', '-type', 'f'], { cwd: clone, encoding: 'utf8' });
      assert.deepEqual(tree.trim().split('\n').toSorted(), [
        './.openhands/microagents/style.md',
        './binary.bin',
        './edit.txt',
        './keep.txt',
        './moved.txt',
        './ünt räcked.txt',
      ]);
      assert.deepEqual(codeOf(await get('patch', 'empty')), [404, 'not_a_repository']);
    });

    it('go out as a zip, links as links, FIFOs left out', async () => {
      const { status, headers, bytes } = await bytesOf('zip-directory');
      assert.deepEqual([status, headers.get('content-type')], [200, 'application/zip']);
      assert.equal(headers.get('content-disposition'), 'attachment; filename="workspace-c.zip"');
      const read = await readZip(bytes, (name) => !name.startsWith('many/') && name !== 'huge');
      const entries = new Map(read.entries.map((entry) => [entry.name, entry]));
      assert.equal(entries.get('app/edit.txt')?.content.toString(), 'one\nTWO\n');
      assert.equal(entries.get('out')?.content.toString(), '/etc/passwd');
      assert.equal((entries.get('out')?.mode ?? 0) & 0o170000, 0o120000);
      assert.ok(entries.has('app/.git/') && entries.has('app/ünt räcked.txt'));
      assert.equal([...entries.keys()].filter((name) => /^many\/./.test(name)).length, 10_000);
      assert.ok(!entries.has('fifo'));
      assert.match(read.comment, /^Left out: 1 /);
    });

    it('run nothing that the repository configures', async () => {
      const names = (await get('list-files')).body as string[];
      assert.deepEqual(
        names.filter((name) => name.startsWith('ran-')),
        [],
      );
    });
  };

  describe('that runs', () => {
    lookAround();

    it('leave the shell of the agent as it was', async () => {
      model.play([call('execute_bash', { command: 'pwd; git status' }), say('Done.')]);
      const before = (await parley.events('c')).length;
      await Promise.all([get('git/changes'), get('git/changes'), get('patch')]);
      await parley.ok('POST', '/api/conversations/c/message', { message: 'Where?' });
      const events = await parley.untilEvents('c', (all) =>
        all.slice(before).some((event) => 'observation' in event && event.observation === 'run'),
      );
      const run = events.findLast((event) => 'observation' in event && event.observation === 'run');
      assert.equal(run && 'content' in run && run.content, '/workspace/many\nfake status\n');
      await parley.until('c', ({ agent_state }) => agent_state === 'awaiting_user_input');
    });

    it('stay when many go away in the middle of a zip', async () => {
      for (let n = 0; n < 12; n += 1) {
        const gone = new AbortController();
        const response = await fetch(`${parley.url}/api/conversations/c/zip-directory`, {
          headers: { 'x-session-api-key': parley.key },
          signal: gone.signal,
        });
        await response.body?.getReader().read();
        gone.abort();
      }
      assert.equal((await bytesOf('zip-directory')).status, 200);
    });
  });

  describe('that is stopped', () => {
    before(async () => {
      await parley.ok('POST', '/api/conversations/c/stop');
    });
    lookAround();

    it('leave it stopped', async () => {
      assert.equal((await parley.until('c', () => true)).status, 'STOPPED');
    });
  });

  it('come in, whole or not at all, as many as the quota has room for', async () => {
    const { status, body } = await upload({
      'a.txt': 'hello',
      '..': 'x',
      out: 'replaces the link, not what it leads to',
      'too-large': new Uint8Array(70 * 1024 * 1024),
      'b.txt': 'after it',
    });
    assert.equal(status, 200);
    assert.deepEqual(body['uploaded_files'], ['/workspace/a.txt', '/workspace/b.txt']);
    assert.deepEqual((body['skipped_files'] as { name: string }[]).map(({ name }) => name).toSorted(), [
      '',
      'out',
      'too-large',
    ]);
    assert.deepEqual((await get('select-file?file=a.txt')).body, { code: 'hello' });
    const names = (await get('list-files')).body as string[];
    assert.ok(!names.some((name) => name.includes('too-large') || name.startsWith('.parley')));
  });

  it('come in before there is a sandbox, and belong to its user afterwards', async () => {
    assert.equal((await upload({ 'early.txt': 'early' }, 'empty')).status, 200);
    model.play(
      byTurn(
        [call('execute_bash', { command: 'cat early.txt; echo more >>early.txt; cat early.txt' }), say('.')],
        say('T'),
      ),
    );
    await parley.ok('POST', '/api/conversations/empty/message', { message: 'Look.' });
    const events = await parley.untilEvents('empty', (all) =>
      all.some((event) => 'observation' in event && event.observation === 'run'),
    );
    const run = events.find((event) => 'observation' in event && event.observation === 'run');
    assert.equal(run && 'content' in run && run.content, 'earlyearlymore\n');
  });

  it('are no forms of another kind', async () => {
    const path = '/api/conversations/c/upload-files';
    assert.deepEqual(codeOf(await parley.request('POST', path, {})), [415, 'unsupported_media_type']);
    for (const body of ['--x\r\nno form', '']) {
      const response = await fetch(`${parley.url}${path}`, {
        method: 'POST',
        headers: { 'x-session-api-key': parley.key, 'content-type': 'multipart/form-data; boundary=x' },
        body,
      });
      assert.equal(response.status, 422, JSON.stringify(body));
    }
  });

  it('have no secrets of V0 to show: no editor, no ports; microagents of the repository', async () => {
    assert.deepEqual((await get('config')).body, { runtime_id: null, session_id: 'c' });
    assert.deepEqual((await get('vscode-url')).body, { vscode_url: null });
    assert.deepEqual((await get('web-hosts')).body, { hosts: {} });
    assert.deepEqual((await get('microagents')).body, {
      microagents: [
        {
          name: 'style',
          type: 'knowledge',
          content: 'Use two spaces.',
          triggers: ['format', 'lint'],
          inputs: [],
          tools: [],
        },
      ],
    });
  });

  it('and what is learnt over them is remembered by a prompt that points to an event', async () => {
    const events = await parley.events('c');
    const run = events.find((event) => 'action' in event && event.action === 'run');
    const { body } = await get(`remember-prompt?event_id=${run?.id}`);
    const { status, prompt } = body as { status: string; prompt: string };
    assert.equal(status, 'success');
    assert.match(prompt, /\.openhands\/microagents\//);
    assert.match(prompt, /^> agent: Running command: git mv/m);
    assert.deepEqual(codeOf(await get('remember-prompt?event_id=9999')), [404, 'event_not_found']);
    assert.deepEqual(codeOf(await get('remember-prompt')), [422, 'invalid_request']);
  });

  it('are not those of another user', async () => {
    const printed = await parley.command('keys', 'create', '--user', 'bob');
    const bob = printed.trim().split('\n').at(-1);
    const paths = [
      'list-files',
      'select-file?file=a',
      'zip-directory',
      'patch',
      'git/changes',
      'git/diff?path=a',
    ];
    for (const path of [
      ...paths,
      'microagents',
      'remember-prompt?event_id=0',
      'config',
      'vscode-url',
      'web-hosts',
    ]) {
      const reply = await parley.request('GET', `/api/conversations/c/${path}`, undefined, bob);
      assert.deepEqual(codeOf(reply), [404, 'conversation_not_found'], path);
    }
  });
});
