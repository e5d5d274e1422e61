import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeFiles } from '../../test/support/agent/fake-sandbox.ts';
import { parseMicroagent, readMicroagents } from './microagents.ts';

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
    });
    const plain = { name: 'repo', type: 'repo', content: 'Plain.', triggers: [], inputs: [], tools: [] };
    assert.deepEqual(parseMicroagent('repo', 'Plain.'), plain);
  });

  it('are read whatever stands at their head', () => {
    const bomb = `a: &a [x]\n${Array.from({ length: 50 }, (_, n) => `b${n}: [*a, *a, *a]`).join('\n')}`;
    for (const head of ['{', ': : :', '- a', 'triggers: 7', 'name: [1]', '"\\ud800": 1', bomb]) {
      const { name, type, content } = parseMicroagent('file', `---\n${head}\n---\ntold`);
      assert.deepEqual([name, type, content], ['file', 'repo', 'told'], head.slice(0, 20));
    }
  });

  it('are found by name, with what other tools call theirs', async () => {
    const files = new FakeFiles()
      .put('/workspace/app/.openhands/microagents/b.md', 'b')
      .put('/workspace/app/.openhands/microagents/notes.txt', 'no')
      .put('/workspace/app/AGENTS.md', 'agents');
    const found = await readMicroagents(files, '/workspace/app');
    assert.deepEqual(
      found.map(({ name, content }) => [name, content]),
      [
        ['AGENTS.md', 'agents'],
        ['b', 'b'],
      ],
    );
    assert.deepEqual(await readMicroagents(files, '/workspace'), []);
  });
});
