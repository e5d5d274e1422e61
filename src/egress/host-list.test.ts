import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseHostList } from './host-list.ts';

function list(text: string) {
  const parsed = parseHostList(text);
  assert.ok(parsed.ok);
  return parsed.list;
}

describe('a list of hosts', () => {
  it('names a host at every port, or at the one it gives', () => {
    const hosts = list(' Gitea.lan., 10.0.0.5:8080,[fd00::5]:443 , fd00::6,');
    assert.equal(hosts.names('gitea.lan', 80), true);
    assert.equal(hosts.names('GITEA.LAN.', 3000), true);
    assert.equal(hosts.names('10.0.0.5', 8080), true);
    assert.equal(hosts.names('::ffff:10.0.0.5', 8080), true);
    assert.equal(hosts.names('10.0.0.5', 80), false);
    assert.equal(hosts.names('fd00:0::5', 443), true);
    assert.equal(hosts.names('fd00::5', 80), false);
    assert.equal(hosts.names('fd00::6', 1), true);
    assert.equal(hosts.names('other.lan', 80), false);
    assert.equal(hosts.names('x.gitea.lan', 80), false);
    assert.equal(hosts.all, false);
  });

  it('is empty for empty text, and all by a star', () => {
    assert.equal(list('').names('a', 80), false);
    assert.equal(list('a, *').all, true);
  });

  for (const text of [
    'http://a',
    'a:0',
    'a:65536',
    'a:b',
    'a b',
    'a/b',
    '[a]:1',
    '-a',
    'a..b',
    'a:1:2',
    '*.a',
    '[::1',
  ]) {
    it(`is not "${text}"`, () => {
      const parsed = parseHostList(`ok.lan,${text}`);
      assert.ok(!parsed.ok && parsed.problem.includes(text));
    });
  }
});
