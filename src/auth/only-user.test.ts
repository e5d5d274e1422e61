import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OnlyUser } from './only-user.ts';
import type { KeyStore } from './store.ts';

describe('the only user', () => {
  function lookingAt(listed: () => Promise<string[]>): OnlyUser {
    const listUsers = async () => (await listed()).map((name) => ({ name }));
    return new OnlyUser({ listUsers } as unknown as KeyStore);
  }

  it('is alone when a look has shown nobody else', async () => {
    const names = ['default'];
    const only = lookingAt(() => Promise.resolve(names));
    assert.equal(only.alone, false);
    await only.look();
    assert.equal(only.alone, true);
    names.push('bob');
    await only.look();
    assert.equal(only.alone, false);
  });

  it('is alone no more as soon as another one comes in', async () => {
    const only = lookingAt(() => Promise.resolve(['default']));
    await only.look();
    only.saw({ userName: 'default' });
    assert.equal(only.alone, true);
    only.saw({ userName: 'bob' });
    assert.equal(only.alone, false);
  });

  it('is not alone by a list from before another one came in', async () => {
    const list = Promise.withResolvers<string[]>();
    const only = lookingAt(() => list.promise);
    const looked = only.look();
    only.saw({ userName: 'bob' });
    list.resolve(['default']);
    await looked;
    assert.equal(only.alone, false);
  });
});
