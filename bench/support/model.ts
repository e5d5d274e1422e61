import type { Parley } from '../../test/support/parley.ts';
import type { Gap, ModelSpec } from '../programs/model.ts';
import { Neighbour } from './neighbour.ts';

/** {@link ../programs/model.ts} */
export function startModel(spec: ModelSpec): Promise<Neighbour> {
  return Neighbour.run('bench/programs/model.ts', JSON.stringify(spec));
}

/** What agents took between its answers and their next requests. */
export async function gapsOf(model: Neighbour): Promise<Gap[]> {
  return (await (await fetch(`${model.url}/gaps`)).json()) as Gap[];
}

/** Makes it the model of the service's user. By its name it has a window in which all that is said finds room. */
export async function useModel(parley: Parley, model: Neighbour, name = 'openai/gpt-5.1'): Promise<void> {
  await parley.ok('POST', '/api/settings', {
    llm_model: name,
    llm_base_url: `${model.url}/v1`,
    llm_api_key: 'any-key-at-all',
    max_iterations: 1_000_000,
  });
}
