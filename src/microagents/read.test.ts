import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FakeFiles } from '../../test/support/agent/fake-sandbox.ts';
import { openWorkspaceFiles } from '../sandbox/workspace/workspace.ts';
import { parseMicroagent } from './microagent.ts';
import { readMicroagents } from './read.ts';

describe('the microagents of a repository', () => {
  it('have a head in YAML, or none', () => {
    const text =
      '---\nname: lint\ntriggers: [lint, 7]\ninputs:\n  - name: FILE\n    description: which\n' +
      'mcp_tools:\n  stdio_servers:\n    - name: fetch\n      command: uvx\n---\n\nUse it.\n';
    assert.deepEqual(parseMicroagent('file', text), {
      name: 'lint',
      type: 'knowledge',
      content: 'Use it.',
      triggers: ['lint', '7'],
      inputs: [{ name: 'FILE', description: 'which' }],
      tools: ['fetch'],
      problem: null,
    });
    const none = { type: 'repo', triggers: [], inputs: [], tools: [], problem: null };
    assert.deepEqual(parseMicroagent('repo', 'Plain.'), { name: 'repo', content: 'Plain.', ...none });
    assert.deepEqual(parseMicroagent('e', '---\r\n---\r\nEmpty.'), { name: 'e', content: 'Empty.', ...none });
  });

  it('are told whatever stands at their head, and what is wrong with it is known', () => {
    const bomb = `a: &a [x]\n${Array.from({ length: 50 }, (_, n) => `b${n}: [*a, *a, *a]`).join('\n')}`;
    const deep = `a: ${'['.repeat(4_000)}`;
    const long = `a: ${'x'.repeat(10_000)}`;
    for (const head of ['{', ': : :', '- a', 'text', 'triggers: 7', '"\\ud800": 1\na: [', bomb, deep, long]) {
      const { name, type, content, problem } = parseMicroagent('file', `---\n${head}\n---\ntold`);
      assert.deepEqual([name, type, content], ['file', 'repo', 'told'], head.slice(0, 20));
      assert.match(problem ?? '', /^(it|its) /, head.slice(0, 20));
    }
  });

  it('have names of one line, and as many triggers as somebody would write', () => {
    const many = Array.from({ length: 500 }, (_, n) => `w${n}`).join(', ');
    const { name, triggers } = parseMicroagent(
      'f',
      `---\nname: "a\\n</b>"\ntriggers: ["", " ", ${'x'.repeat(200)}, ${many}]\n---\n`,
    );
    assert.equal(name, 'a </b>');
    assert.equal(triggers.length, 32);
    assert.equal(triggers[0], 'w0');
  });

  it('are found by name, with what other tools call theirs', async () => {
    const files = new FakeFiles()
      .put('/workspace/app/.openhands/microagents/b.md', 'b')
      .put('/workspace/app/.openhands/microagents/notes.txt', 'no')
      .put('/workspace/app/.cursorrules', ' \n')
      .put('/workspace/app/AGENTS.md', 'agents');
    const found = await readMicroagents(files, '/workspace/app');
    assert.deepEqual(
      found.microagents.map(({ name, content }) => [name, content]),
      [
        ['AGENTS.md', 'agents'],
        ['b', 'b'],
      ],
    );
    assert.deepEqual(found.problems, []);
    assert.deepEqual(await readMicroagents(files, '/workspace'), { microagents: [], problems: [] });
  });

  it('are read from the workspace alone, as far as is reasonable, and what is not is said', async () => {
    const root = await mkdtemp(join(tmpdir(), 'microagents-'));
    try {
      const outside = join(root, 'outside');
      const folder = join(root, 'workspace/.openhands/microagents');
      await mkdir(folder, { recursive: true });
      await writeFile(outside, 'SECRET');
      await symlink(outside, join(root, 'workspace/AGENTS.md'));
      await mkdir(join(root, 'workspace/.cursorrules'));
      await symlink('../../../outside', join(folder, 'a.md'));
      await symlink('/proc/self/environ', join(folder, 'b.md'));
      await symlink('c.md', join(folder, 'c.md'));
      execFileSync('mkfifo', [join(folder, 'd.md')]);
      await writeFile(join(folder, 'e.md'), 'x'.repeat(300 * 1024));
      await writeFile(join(folder, 'f.md'), '---\n{\n---\nstill told');
      await symlink('f.md', join(folder, 'g.md'));
      const files = openWorkspaceFiles(join(root, 'workspace'), {
        mountedAt: '/workspace',
        drafts: join(root, 'drafts'),
        owner: null,
        readOnly: false,
      });
      const { microagents, problems } = await readMicroagents(files, '/workspace');
      assert.deepEqual(
        microagents.map(({ name, content }) => [name, content]),
        [
          ['f', 'still told'],
          ['g', 'still told'],
        ],
      );
      const inFolder = (name: string) => `.openhands/microagents/${name}`;
      assert.deepEqual(problems, [
        'AGENTS.md was not read: it leads out of the workspace.',
        '.cursorrules was not read: it is no file.',
        `${inFolder('a.md')} was not read: it leads out of the workspace.`,
        `${inFolder('b.md')} was not read: it leads out of the workspace.`,
        `${inFolder('d.md')} was not read: it is no file.`,
        `${inFolder('e.md')} was not read: it is larger than 256 KiB.`,
        `The head of ${inFolder('f.md')} cannot be used: it is no YAML.`,
        `The head of ${inFolder('g.md')} cannot be used: it is no YAML.`,
      ]);
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it('have heads that are bounded in all, and are told without them', async () => {
    const files = new FakeFiles();
    const head = `name: named\ntriggers: [word]\nrest: ${'x'.repeat(7_000)}`;
    for (let n = 10; n < 30; n += 1)
      files.put(`/workspace/.openhands/microagents/${n}.md`, `---\n${head}\n---\ntold`);
    const { microagents, problems } = await readMicroagents(files, '/workspace');
    assert.equal(microagents.filter(({ name }) => name === 'named').length, 9);
    assert.equal(microagents.filter(({ content }) => content === 'told').length, 20);
    assert.equal(problems.length, 11);
    assert.match(problems[0] ?? '', /19\.md cannot be used: there are more than 65536 characters of heads/);
  });

  it('are bounded in number and in all', async () => {
    const files = new FakeFiles();
    for (let n = 0; n < 300; n += 1) {
      files.put(`/workspace/.openhands/microagents/${String(n).padStart(3, '0')}.md`, 'x'.repeat(20_000));
    }
    const { microagents, problems } = await readMicroagents(files, '/workspace');
    assert.equal(microagents.length, 104);
    assert.equal(problems.length, 2);
    assert.match(problems[0] ?? '', /more than 200 files/);
    assert.match(problems[1] ?? '', /104\.md was not read: there is more than 2 MiB before it\./);
  });
});
