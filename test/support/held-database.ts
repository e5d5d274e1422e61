import type { DatabaseSync } from 'node:sqlite';
import { BUSY, resultCode } from '../../src/storage/result-code.ts';
import { eventually } from './eventually.ts';

/**
 * Resolves when this connection holds the database, as another process would: nobody else writes until it rolls back.
 * Whoever writes now is waited for with the event loop free, as it may be this very process.
 */
export async function hold(database: DatabaseSync): Promise<void> {
  await eventually('the lock of the database', () => {
    try {
      database.exec('begin immediate');
      return true;
    } catch (error) {
      if (resultCode(error) !== BUSY) throw error;
      return false;
    }
  });
}
