import type { Parley } from '../../test/support/parley.ts';
import { Neighbour } from './neighbour.ts';
import { occupy, ONE_PLACE } from './occupied.ts';

/** Conversations that nobody drives, so that what is said in them is stored and told, and nothing else happens. */
export interface Waiting extends AsyncDisposable {
  app: Parley;
  port: number;
  ids: string[];
}

/** @param start the service, with what this needs of its environment */
export async function waitingConversations(
  count: number,
  start: (env: Record<string, string>) => Promise<Parley>,
): Promise<Waiting> {
  const model = await Neighbour.start();
  const app = await start({ ...ONE_PLACE, PARLEY_SANDBOX: 'unconfined', PARLEY_RATE_LIMIT: '0' });
  const end = async (): Promise<void> => {
    await app.close();
    await model[Symbol.asyncDispose]();
  };
  await occupy(app.url, model);
  const ids = Array.from({ length: count }, (_, n) => `c${n}`);
  for (const id of ids) await app.ok('POST', '/api/conversations', { conversation_id: id });
  return { app, port: Number(new URL(app.url).port), ids, [Symbol.asyncDispose]: end };
}
