import { TEST_KEY } from '../../test/support/parley.ts';
import type { Subject } from '../row.ts';
import { besideRow, type WithOperation } from '../support/beside.ts';
import { providerBodies } from '../support/bodies.ts';
import { Neighbour } from '../support/neighbour.ts';

/** POST of a git provider's token; the git host answers at once whose it is. */
export const postProviders: Subject = {
  seconds: 120,
  measure: (share) =>
    withProviders((operation) => besideRow(operation, { share, rounds: share === 1 ? 8 : 2 })),
};

export const withProviders: WithOperation = async (use) => {
  await using host = await Neighbour.start();
  return await use({
    name: 'one new token',
    path: '/api/add-git-providers',
    bodies: providerBodies(host.url),
    keys: [TEST_KEY],
    env: { PARLEY_SANDBOX: 'none' },
  });
};
