import type { NewEvent } from './event.ts';

/** Members of an event that are names of ours, not text: a secret that equals one must not break the log. */
const KEPT = new Set([
  'action',
  'observation',
  'source',
  'timestamp',
  'agent_state',
  'confirmation_state',
  'impl_source',
  'recall_type',
]);

/** The event with every text in it cleaned, names of members that came from a model or a tool included. */
export function redactEvent<E extends NewEvent>(event: E, redact: (text: string) => string): E {
  // The shape is kept: only strings become other strings.
  return clean(event, redact, true) as E;
}

function clean(value: unknown, redact: (text: string) => string, top: boolean): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((entry) => clean(entry, redact, false));
  if (value === null || typeof value !== 'object') return value;
  const cleaned: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const key = top ? name : redact(name);
    // defineProperty's semantics without its cost: only a member called __proto__ would be lost by assignment.
    if (key === '__proto__')
      Object.defineProperty(cleaned, key, { value: clean(member, redact, false), enumerable: true });
    else cleaned[key] = KEPT.has(name) ? member : clean(member, redact, false);
  }
  return cleaned;
}
