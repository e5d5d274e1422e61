import assert from 'node:assert/strict';
import { addTwo, type Facts } from './stores.ts';

export const madeRefStoreFacts: Facts = {
  'the refs that a conversation made are its own, until they are removed': async (under) => {
    const [key, other] = await addTwo(under);
    const { transact, read } = under.storage;
    const note = (of: number, made: readonly string[], removed: readonly string[] = []) =>
      transact(({ madeRefs }) => madeRefs.note(of, { made, removed }));
    await note(key, ['refs/heads/a', 'refs/heads/b']);
    await note(key, ['refs/heads/b', 'refs/tags/c'], ['refs/heads/a', 'refs/heads/never']);
    await note(other, ['refs/heads/z']);
    const among = ['refs/heads/a', 'refs/heads/b', 'refs/tags/c', 'refs/heads/z'];
    const madeBy = async (of: number) => (await read.madeRefs.among(of, among)).toSorted();
    assert.deepEqual(await madeBy(key), ['refs/heads/b', 'refs/tags/c']);
    assert.deepEqual(await madeBy(other), ['refs/heads/z']);
    assert.deepEqual(await read.madeRefs.among(key, []), []);

    await note(
      key,
      Array.from({ length: 1_200 }, (_, n) => `refs/heads/${n}`),
    );
    const last = ['refs/heads/900', 'refs/heads/1100'];
    assert.deepEqual(await read.madeRefs.among(key, last), ['refs/heads/900']);
    await transact(({ conversations }) => conversations.remove(key));
    await note(key, ['refs/heads/late']);
    assert.deepEqual(await madeBy(key), []);
  },
};
