import type { StoredEvent } from '../events/log.ts';

/** What decides whether a page of V0 is sent an event, and as whose. */
interface Seen {
  source?: string;
  action?: string;
  observation?: string;
}

/** What of the environment a page of V0 is sent as it happens, as the agent's. */
const LIVE_OBSERVATIONS: ReadonlySet<string> = new Set(['run', 'agent_state_changed', 'recall', 'error']);

/** Live events are the same object for all who watch: each is looked at once. */
const looked = new WeakMap<StoredEvent, string | null>();

/**
 * An event as it is sent while it happens, or null when it is not: what user and agent do, and of the environment
 * what answers the agent, which V0 says the agent itself says.
 */
export function liveText(event: StoredEvent): string | null {
  const known = looked.get(event);
  if (known !== undefined) return known;
  const text = textWhileItHappens(event);
  looked.set(event, text);
  return text;
}

function textWhileItHappens({ json }: StoredEvent): string | null {
  const event = JSON.parse(json) as Seen;
  if (isNothing(event)) return null;
  if (event.source !== 'environment') return json;
  if (!LIVE_OBSERVATIONS.has(event.observation ?? '')) return null;
  return JSON.stringify({ ...event, source: 'agent' });
}

/**
 * An event as it is sent to who comes later, or null when it is not. Of the agent's states the newest alone: the
 * former ones would show a page errors that are over. It keeps its place in the log, so that the ids a client
 * receives only grow and it can go on after whichever was the last (V0 sent it at the end, and events twice for it).
 */
export function replayText(event: StoredEvent, newestState: number): string | null {
  const seen = JSON.parse(event.json) as Seen;
  if (isNothing(seen) || seen.action === 'recall') return null;
  return isState(seen) && event.id !== newestState ? null : event.json;
}

export function isStateEvent({ json }: StoredEvent): boolean {
  // Most events are told apart by a search in their text.
  return json.includes('agent_state_changed') && isState(JSON.parse(json) as Seen);
}

function isState({ observation }: Seen): boolean {
  return observation === 'agent_state_changed';
}

function isNothing({ action, observation }: Seen): boolean {
  return action === 'null' || observation === 'null';
}
