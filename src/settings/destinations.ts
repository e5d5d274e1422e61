import { modelDestination } from '../model/name.ts';
import type { PlainMembers, StdioServerEntry } from './document.ts';

/**
 * Where the model key goes; "" while neither model nor address is set. A key stored then is bound by the first of
 * them that is set, and stays bound when they are unset again.
 */
export function modelKeyDestination({ llm_model = '', llm_base_url = '' }: PlainMembers): string {
  return llm_model === '' && llm_base_url === '' ? '' : modelDestination(llm_model, llm_base_url);
}

/** Tavily, or what the operator says it is reached by: users can't redirect the key. */
export const SEARCH_DESTINATION = 'https://api.tavily.com';
/** The remote sandbox host is the operator's to name: users can't redirect the key. */
export const SANDBOX_DESTINATION = 'sandbox host';
/** Custom secrets go into the environment of the user's shells, and from there wherever commands send them. */
export const SHELL_DESTINATION = 'shell';

/** The program that gets the variables: another command or argument is another program. */
export function programDestination({ command, args }: Pick<StdioServerEntry, 'command' | 'args'>): string {
  return JSON.stringify([command, ...args]);
}
