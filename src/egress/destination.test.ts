import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findDestination, HostNotFound } from './destination.ts';
import { EgressRefused, sandboxPolicy } from './policy.ts';
import { NO_HOSTS } from './host-list.ts';
import type { Resolve } from './resolver.ts';

const policy = sandboxPolicy({ allowHosts: NO_HOSTS });
const never: Resolve = async (host) => assert.fail(`${host} was looked up`);
const to = (resolve: Resolve, host: string) => findDestination({ policy, resolve }, host, 443);

describe('a destination', () => {
  it('has those addresses of its name that are allowed, and no others', async () => {
    const { addresses, lookup } = await to(
      async () => ['127.0.0.1', '203.0.113.1', '10.0.0.1', '2001:db8::1'],
      'a.test',
    );
    assert.deepEqual(addresses, ['203.0.113.1', '2001:db8::1']);
    lookup('a.test', { all: true }, (error, found) => {
      assert.equal(error, null);
      assert.deepEqual(found, [
        { address: '203.0.113.1', family: 4 },
        { address: '2001:db8::1', family: 6 },
      ]);
    });
    lookup('a.test', {}, (_error, address, family) =>
      assert.deepEqual([address, family], ['203.0.113.1', 4]),
    );
  });

  it('is an address as it stands, without a lookup', async () => {
    assert.deepEqual((await to(never, '203.0.113.1')).addresses, ['203.0.113.1']);
    assert.deepEqual((await to(never, '[2001:db8::1]')).addresses, ['2001:db8::1']);
    await assert.rejects(to(never, '[::ffff:127.0.0.1]'), EgressRefused);
  });

  it('is refused before the lookup by its name, and after it by its addresses', async () => {
    await assert.rejects(to(never, 'localhost'), EgressRefused);
    await assert.rejects(to(never, '2130706433'), EgressRefused);
    await assert.rejects(
      to(async () => ['10.0.0.1', '127.0.0.1'], 'a.test'),
      (error: unknown) => error instanceof EgressRefused && /a\.test \(10\.0\.0\.1\)/.test(error.message),
    );
  });

  it('is not found where its name has no address or the question fails', async () => {
    await assert.rejects(
      to(async () => [], 'a.test'),
      HostNotFound,
    );
    await assert.rejects(
      to(() => Promise.reject(new Error('SERVFAIL')), 'a.test'),
      HostNotFound,
    );
  });
});
