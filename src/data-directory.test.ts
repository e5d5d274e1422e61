import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { prepareDataDirectory } from './data-directory.ts';

describe('the data directory', () => {
  it('is made with all that is above it, and the database for its owner alone', async (t) => {
    const place = await mkdtemp(join(tmpdir(), 'parley-data-'));
    t.after(() => rm(place, { recursive: true, force: true }));
    const dataDir = join(place, 'a', 'b');
    prepareDataDirectory(dataDir);
    prepareDataDirectory(dataDir);
    assert.equal((await stat(join(dataDir, 'parley.db'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(place, 'a'))).mode & 0o066, 0);
  });

  it('has its mode whatever the umask is', async (t) => {
    const place = await mkdtemp(join(tmpdir(), 'parley-data-'));
    t.after(() => rm(place, { recursive: true, force: true }));
    const before = process.umask(0o777);
    try {
      prepareDataDirectory(join(place, 'a', 'b'));
    } finally {
      process.umask(before);
    }
    const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
    assert.equal((await stat(join(place, 'a', 'b'))).mode & 0o777, mode);
  });

  it('is refused where none can be made', () => {
    assert.throws(() => prepareDataDirectory('/proc/parley/data'), { name: 'StartError' });
  });
});
