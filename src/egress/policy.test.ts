import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_HOSTS, parseHostList, type HostList } from './host-list.ts';
import { sandboxPolicy, servicePolicy, type EgressPolicy } from './policy.ts';

function list(text: string): HostList {
  const parsed = parseHostList(text);
  assert.ok(parsed.ok);
  return parsed.list;
}

function allows(policy: EgressPolicy, host: string, port: number, address: string): boolean {
  return policy.refuseHost(host, port) === null && policy.refuseAddress(host, port, address) === null;
}

describe('what the service may call', () => {
  const alone = servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS });
  const shared = servicePolicy({
    privateAllowed: () => false,
    allowPrivateHosts: list('git.lan:3000,10.0.0.7'),
  });
  const open = servicePolicy({ privateAllowed: () => false, allowPrivateHosts: list('*') });

  it('is everything public', () => {
    for (const policy of [alone, shared, open]) assert.ok(allows(policy, 'api.test', 8443, '8.8.8.8'));
  });

  it('is private and loopback for the user who is alone, else what the list names', () => {
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1']) {
      assert.ok(allows(alone, 'model.lan', 80, address), address);
      assert.ok(!allows(shared, 'model.lan', 80, address), address);
      assert.ok(allows(open, 'model.lan', 80, address), address);
    }
    assert.ok(allows(shared, 'git.lan', 3000, '10.0.0.1'));
    assert.ok(!allows(shared, 'git.lan', 3001, '10.0.0.1'));
    assert.ok(allows(shared, 'any.lan', 3001, '10.0.0.7'));
  });

  it('is never link-local or a cloud’s metadata, whatever the list says', () => {
    const named = servicePolicy({ privateAllowed: () => true, allowPrivateHosts: list('*,169.254.169.254') });
    for (const address of [
      '169.254.169.254',
      'fe80::1',
      'fd00:ec2::254',
      '::ffff:169.254.169.254',
      '224.0.0.1',
    ]) {
      assert.ok(!allows(named, 'meta.test', 80, address), address);
    }
  });

  it('is refused in a sentence that names the host and the setting', () => {
    assert.equal(
      shared.refuseAddress('model.lan', 8080, '10.0.0.1'),
      'model.lan (10.0.0.1) is a private address: to allow it, add model.lan:8080 to PARLEY_ALLOW_PRIVATE_HOSTS',
    );
    assert.match(shared.refuseAddress('::1', 80, '::1') ?? '', /^::1 is a loopback address.*\[::1\]:80 to/);
  });
});

describe('what a sandbox may reach', () => {
  const strict = sandboxPolicy({ allowHosts: NO_HOSTS });
  const some = sandboxPolicy({ allowHosts: list('registry.lan:5000,cache.lan,db.example.org:5432') });
  const wide = sandboxPolicy({ allowHosts: list('*') });

  it('is public addresses at ports 80 and 443', () => {
    assert.ok(allows(strict, 'example.org', 80, '8.8.8.8'));
    assert.ok(allows(strict, 'example.org', 443, '2606:4700::1111'));
    for (const port of [22, 25, 8080, 8443]) assert.ok(!allows(strict, 'example.org', port, '8.8.8.8'));
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '169.254.169.254']) {
      assert.ok(!allows(strict, 'example.org', 443, address), address);
    }
  });

  it('is besides what the list names', () => {
    assert.ok(allows(some, 'registry.lan', 5000, '10.0.0.1'));
    assert.ok(!allows(some, 'registry.lan', 443, '10.0.0.1'));
    assert.ok(allows(some, 'cache.lan', 6379, '127.0.0.1'));
    assert.ok(allows(some, 'db.example.org', 5432, '8.8.8.8'));
    assert.ok(!allows(some, 'db.example.org', 5433, '8.8.8.8'));
    assert.ok(!allows(some, 'cache.lan', 80, '169.254.169.254'));
  });

  it('is with a star every network and port, but not this machine', () => {
    assert.ok(allows(wide, 'any.lan', 8080, '10.0.0.1'));
    assert.ok(allows(wide, 'example.org', 22, '8.8.8.8'));
    assert.ok(!allows(wide, 'any.lan', 80, '127.0.0.1'));
    assert.ok(!allows(wide, 'localhost', 80, '8.8.8.8'));
  });

  const names = [
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    '',
    'a..b',
  ];
  const spellings = [
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '1.2.3.4.5',
    'a.0x7f',
    'a.1',
    'fe80::1%eth0',
    'a b',
  ];
  for (const host of [...names, ...spellings]) {
    it(`is never looked up as "${host}"`, () => assert.notEqual(strict.refuseHost(host, 80), null));
  }
});
