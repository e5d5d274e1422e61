import type { ActionName, NewEvent, ObservationName } from '../events/event.ts';
import { ACTION_ARGS, type EventFile, eventFile, llmMetrics, OBSERVATION_EXTRAS } from './event-shapes.ts';
import { ToolCalls } from './tool-calls.ts';

/** An event with the time at which it happened. */
export type PastEvent = NewEvent & { timestamp?: string };

/** An event file as it was read: JSON, or what was wrong with it. */
export type ReadFile = { name: string } & ({ json: unknown } | { problem: string });

export interface Converted {
  events: PastEvent[];
  problems: { name: string; why: string }[];
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?/;

/**
 * A log of V0 in our form: kinds that we have with every member that we count on, others as they are. Ids are
 * counted anew, without gaps; what refers to them follows.
 */
export function convertEvents(files: readonly ReadFile[]): Converted {
  const problems: Converted['problems'] = [];
  const found: { name: string; file: EventFile }[] = [];
  for (const read of files) {
    if ('problem' in read) {
      problems.push({ name: read.name, why: read.problem });
      continue;
    }
    const parsed = eventFile.safeParse(read.json);
    const why = parsed.success ? shapeProblem(parsed.data) : parsed.error.issues[0]?.message;
    if (parsed.success && why === null) found.push({ name: read.name, file: parsed.data });
    else problems.push({ name: read.name, why: `is no event: ${why}` });
  }
  found.sort((a, b) => a.file.id - b.file.id);
  const ids = new Map(found.map(({ file }, index) => [file.id, index]));
  const calls = new ToolCalls();
  for (const { file } of found) {
    if (file.action !== undefined && file.source === 'agent') calls.see(file.id, file['tool_call_metadata']);
  }
  return { events: found.map(({ file }) => convert(file, ids, calls)), problems };
}

/** What is wrong with an event of a kind that we have; null when nothing is. */
function shapeProblem(file: EventFile): string | null {
  const { action, observation } = file;
  if (action === undefined && observation === undefined) return 'neither an action nor an observation';
  const result = knownArgs(file);
  if (result === null || result.success) return null;
  const [issue] = result.error.issues;
  return `${action ?? observation}.${issue?.path.join('.')}: ${issue?.message}`;
}

function knownArgs({ action, observation, args, extras }: EventFile) {
  if (action !== undefined) {
    return Object.hasOwn(ACTION_ARGS, action) ? ACTION_ARGS[action as ActionName].safeParse(args) : null;
  }
  return Object.hasOwn(OBSERVATION_EXTRAS, observation ?? '')
    ? OBSERVATION_EXTRAS[observation as ObservationName].safeParse(extras)
    : null;
}

function convert(file: EventFile, ids: ReadonlyMap<number, number>, calls: ToolCalls): PastEvent {
  const { source, message, action, observation } = file;
  const own = knownArgs(file)?.data;
  const timestamp = TIMESTAMP.exec(file.timestamp)?.[0];
  const common = { source, message, ...(timestamp === undefined ? {} : { timestamp }) };
  if (action !== undefined) {
    const args = own ?? file.args;
    const metrics = llmMetrics.safeParse(file['llm_metrics']);
    const call = calls.of(file.id);
    const event = {
      ...common,
      action,
      args: action === 'condensation' ? renumbered(args, ids) : args,
      ...(call === undefined ? {} : { tool_call_metadata: call }),
      ...(metrics.success
        ? { llm_metrics: { ...metrics.data, costs: [], response_latencies: [], token_usages: [] } }
        : {}),
      ...(file.timeout ? { timeout: file.timeout } : {}),
    };
    // Of a kind that we have its shape was looked at; others are kept for who reads the log.
    return event as PastEvent;
  }
  const cause = file.cause === null || file.cause === undefined ? undefined : ids.get(file.cause);
  const event = {
    ...common,
    observation,
    content: typeof file.content === 'string' ? file.content : JSON.stringify(file.content ?? ''),
    extras: own ?? file.extras,
    ...(cause === undefined ? {} : { cause }),
    ...(typeof file.success === 'boolean' ? { success: file.success } : {}),
  };
  return event as unknown as PastEvent;
}

/** Events that a summary stands for, by their ids of now. */
function renumbered(args: object, ids: ReadonlyMap<number, number>): object {
  const of = (id: unknown): number | null => (typeof id === 'number' ? (ids.get(id) ?? null) : null);
  const { forgotten_event_ids: forgotten = null, ...rest } = args as Record<string, unknown>;
  return {
    ...rest,
    forgotten_event_ids: Array.isArray(forgotten)
      ? forgotten.flatMap((id: unknown) => of(id) ?? [])
      : forgotten,
    forgotten_events_start_id: of(rest['forgotten_events_start_id']),
    forgotten_events_end_id: of(rest['forgotten_events_end_id']),
  };
}
