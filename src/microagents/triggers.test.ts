import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMicroagent } from './microagent.ts';
import { triggeredBy } from './triggers.ts';

const agent = (name: string, ...triggers: string[]) =>
  parseMicroagent(name, `---\ntriggers: ${JSON.stringify(triggers)}\n---\n${name}`);

describe('a message brings up', () => {
  const all = [
    agent('tests', 'test'),
    agent('deploy', '/deploy', 'Kubernetes'),
    agent('german', 'prüfung'),
    agent('chinese', '测试'),
    parseMicroagent('always', '---\ntype: repo\ntriggers: [test]\n---\n'),
  ];
  for (const [message, names] of [
    ['Run the Tests, please.', ['tests']],
    ['the latest contest_test', []],
    ['retest (test)', ['tests']],
    ['/deploy to KUBERNETES', ['deploy']],
    ['see https://x/deploy', ['deploy']],
    ['Die Prüfungen', ['german']],
    ['请运行测试。', ['chinese']],
    ['', []],
    [`${'x '.repeat(20_000)} test`, []],
  ] as const) {
    it(`${JSON.stringify(message.slice(0, 30))}: ${names.join(', ') || 'nothing'}`, () => {
      const found = triggeredBy(message, all);
      assert.deepEqual(
        found.map(({ microagent }) => microagent.name),
        names,
      );
    });
  }

  it('by the first trigger that is there', () => {
    assert.equal(triggeredBy('kubernetes', all)[0]?.trigger, 'Kubernetes');
  });

  it('quickly, whatever a repository has', () => {
    const hostile = Array.from({ length: 200 }, (_, n) =>
      agent(`a${n}`, ...Array.from({ length: 32 }, (__, m) => `${'a'.repeat(60)}${n}${m}`)),
    );
    assert.deepEqual(triggeredBy('a'.repeat(100_000), hostile), []);
  });
});
