import type { TextRedactor } from '../secrets/redactor.ts';
import { AGENT_STATES, CONFIRMATION_STATES, type NewEvent, RECALL_TYPES } from './event.ts';

/** Members of an event that are names of ours, not text: a secret that equals one must not break the log. */
const NAMES: ReadonlySet<string> = new Set(['action', 'observation', 'source', 'timestamp']);
/**
 * Those of its `args` and `extras`, with all that they say: of a client they may say anything else, which is text; and so
 * is what a model or a tool calls alike, further down.
 */
const WORDS: ReadonlyMap<string, ReadonlySet<unknown>> = new Map<string, ReadonlySet<unknown>>([
  ['agent_state', new Set(AGENT_STATES)],
  ['confirmation_state', new Set(CONFIRMATION_STATES)],
  ['impl_source', new Set(['oh_aci'])],
  ['recall_type', new Set(RECALL_TYPES)],
]);
/** So deep and deeper there is text alone. */
const INSIDE = 2;

/** The event with every text in it cleaned, names of members that came from a model or a tool included. */
export function redactEvent<E extends NewEvent>(event: E, redact: (text: string) => string): E {
  // The shape is kept: only strings become other strings.
  return clean(event, redact, 0) as E;
}

/** As {@link redactEvent}, in turns with all else that is to be done: its texts may be megabytes long. */
export async function redactInTurns<E extends NewEvent>(event: E, redactor: TextRedactor): Promise<E> {
  const redacted = new Map<string, string>();
  redactEvent(event, (text) => {
    redacted.set(text, text);
    return text;
  });
  for (const text of redacted.keys()) redacted.set(text, await redactor.redactInTurns(text));
  return redactEvent(event, (text) => redacted.get(text) ?? redactor.redact(text));
}

/** Any JSON with every text in it cleaned, names of members included. */
export function redactJson<T>(value: T, redact: (text: string) => string): T {
  return clean(value, redact, INSIDE) as T;
}

function isOurs(name: string, member: unknown, depth: number): boolean {
  if (depth === 0) return NAMES.has(name);
  return depth === 1 && WORDS.get(name)?.has(member) === true;
}

function clean(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((entry) => clean(entry, redact, INSIDE));
  if (value === null || typeof value !== 'object') return value;
  const cleaned: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const key = depth === 0 ? name : redact(name);
    // defineProperty's semantics without its cost: only a member called __proto__ would be lost by assignment.
    if (key === '__proto__') {
      const enumerable = true;
      Object.defineProperty(cleaned, key, { value: clean(member, redact, depth + 1), enumerable });
    } else cleaned[key] = isOurs(name, member, depth) ? member : clean(member, redact, depth + 1);
  }
  return cleaned;
}
