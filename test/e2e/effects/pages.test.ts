import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startParley } from '../../support/parley.ts';

describe('pages', () => {
  it('are given what their user chose', async () => {
    await using parley = await startParley();
    const chosen = { language: 'ja', enable_sound_notifications: true };
    const seen = async () => {
      const { language, enable_sound_notifications } = (await parley.ok(
        'GET',
        '/api/settings',
      )) as typeof chosen;
      return { language, enable_sound_notifications };
    };
    await parley.ok('POST', '/api/settings', { language: 'en' });
    assert.deepEqual(await seen(), { language: 'en', enable_sound_notifications: false });
    await parley.ok('POST', '/api/settings', chosen);
    await parley.crash();
    await parley.start();
    assert.deepEqual(await seen(), chosen);
  });
});
