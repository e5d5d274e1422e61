import { TEST_KEY } from '../../test/support/parley.ts';
import type { Subject } from '../row.ts';
import { besideRow, type WithOperation } from '../support/beside.ts';
import { SETTINGS_BODIES } from '../support/bodies.ts';

/** POST of all 25 settings members. */
export const postSettings: Subject = {
  seconds: 120,
  measure: (share) =>
    withSettings((operation) => besideRow(operation, { share, rounds: share === 1 ? 8 : 2 })),
};

export const withSettings: WithOperation = (use) =>
  use({
    name: '25 members',
    path: '/api/settings',
    bodies: SETTINGS_BODIES,
    keys: [TEST_KEY],
    env: { PARLEY_SANDBOX: 'none' },
  });
