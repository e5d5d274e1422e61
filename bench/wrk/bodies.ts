/** Prints the bodies that the bench sends, one a line, for `post.lua`: `settings`, `conversations`, or `providers HOST`. */
import { CONVERSATION_BODIES, providerBodies, SETTINGS_BODIES } from '../support/bodies.ts';

const [what = '', host = ''] = process.argv.slice(2);
const all: Record<string, readonly unknown[]> = {
  settings: SETTINGS_BODIES,
  conversations: CONVERSATION_BODIES,
  providers: providerBodies(host),
};
const bodies = all[what];
if (!bodies) throw new Error(`there are bodies for ${Object.keys(all).join(', ')}`);
process.stdout.write(bodies.map((body) => `${JSON.stringify(body)}\n`).join(''));
