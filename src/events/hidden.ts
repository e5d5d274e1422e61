import type { Event } from './event.ts';
import type { StoredEvent } from './log.ts';

/** Whether an event is of the service's own work (the scripts of a repository), which a trajectory leaves out as in V0. */
export function isHidden({ json }: StoredEvent): boolean {
  // Most events are told apart by a search in their text.
  if (!json.includes('"hidden":true')) return false;
  const event = JSON.parse(json) as Event;
  const { hidden } = ('action' in event ? event.args : event.extras) as { hidden?: boolean };
  return hidden === true;
}
