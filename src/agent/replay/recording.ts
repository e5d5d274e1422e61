import { z } from 'zod';

import { imageUrl } from '../../contract/conversations.ts';
import { isTooDeep, MAX_DEPTH } from '../../nesting.ts';
import { STOPPED } from '../../events/not-done.ts';
import { callOf, type RecordedCall } from './recorded-call.ts';

/** What a replay does at one place of the recording. The first step is the message that begins the conversation. */
export type ReplayStep =
  | { kind: 'user'; content: string; imageUrls: string[]; fileUrls: string[] | null }
  /** `waits`: nothing follows, so the user is waited for. */
  | { kind: 'said'; text: string; waits: boolean }
  | { kind: 'call'; call: RecordedCall; thought: string }
  /** Something that is done nowhere here. */
  | { kind: 'unknown'; action: string };

export type Recording = { ok: true; steps: ReplayStep[] } | { ok: false; problem: string };

/** What belongs to a run and not to what it did: each run has its own. */
const OF_THE_RUN = new Set([
  'system',
  'recall',
  'change_agent_state',
  'condensation',
  'condensation_request',
  'null',
]);

const event = z.looseObject({
  id: z.unknown().optional(),
  source: z.unknown().optional(),
  cause: z.unknown().optional(),
  action: z.unknown().optional(),
  observation: z.unknown().optional(),
  timeout: z.unknown().optional(),
  args: z.looseObject({}).catch({}),
  extras: z.looseObject({}).catch({}),
});
type Recorded = z.output<typeof event>;
type RecordedAction = Recorded & { action: string };

const events = z.array(event);
const recording = z.union([events, z.looseObject({ trajectory: events }).transform((all) => all.trajectory)]);

/**
 * Reads `replay_json`: a JSON array of events in V0's form, as any version of it exported them, or the answer of
 * `GET …/trajectory`. Only what was done is kept: observations are made anew.
 */
export function readRecording(text: string): Recording {
  const parsed = recording.safeParse(jsonOf(text));
  if (!parsed.success) {
    return no('must be a JSON array of events, or an object with such an array as "trajectory"');
  }
  const actions = doneActions(parsed.data);
  const steps = actions.map((action, n) => stepOf(action, n === actions.length - 1));
  if (steps.length > 0 && steps[0]?.kind !== 'user') {
    return no('must begin with a message of the user, apart from events of the system');
  }
  if (steps.some((step) => step.kind === 'call' && isTooDeep(step.call.input))) {
    return no(`must not have actions whose arguments are nested deeper than ${MAX_DEPTH} levels`);
  }
  return { ok: true, steps };
}

function no(problem: string): Recording {
  return { ok: false, problem };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The actions that were carried out, in their order. Those of the user are recorded when they are asked for, and have
 * their place where they were answered.
 */
function doneActions(all: readonly Recorded[]): RecordedAction[] {
  const undone = new Set(all.filter(saysUndone).map(({ cause }) => cause));
  const answered = new Set(
    all.flatMap(({ observation, cause }) => (observation === undefined ? [] : [cause])),
  );
  const asked = new Map<unknown, RecordedAction>();
  const done: RecordedAction[] = [];
  let finished = false;
  for (const one of all) {
    const late = one.observation === undefined ? undefined : asked.get(one.cause);
    if (late) {
      asked.delete(one.cause);
      addUsers(done, late);
    }
    if (!isAction(one) || undone.has(one.id) || isHeldBack(one)) continue;
    if (isUsers(one)) {
      if (one.id !== undefined && answered.has(one.id)) asked.set(one.id, one);
      else addUsers(done, one);
      continue;
    }
    // Who says that it is done before anything was said ends nothing.
    if (isUsersEnd(one) && done.every(isUsers)) continue;
    // What came with `finish` in one answer was not done; the user's next word goes on.
    if (isUserMessage(one)) finished = false;
    else if (finished) continue;
    if (isEnd(one)) finished = true;
    // What its user had done before saying anything follows the message: nothing is replayed before there is one.
    if (isUserMessage(one) && done.every(isUsers)) done.unshift(one);
    else done.push(one);
  }
  return done;
}

/** With its last word a run ends: what its user had done after that, without a word to the agent, goes before it. */
function addUsers(done: RecordedAction[], own: RecordedAction): void {
  const last = done.at(-1);
  const rests = last && !isUserMessage(last) && (isEnd(last) || last.action === 'message');
  done.splice(rests ? done.length - 1 : done.length, 0, own);
}

function isAction(one: Recorded): one is RecordedAction {
  if (typeof one.action !== 'string' || one.source === 'environment' || OF_THE_RUN.has(one.action))
    return false;
  return one['inert'] !== true || isUsersEnd(one);
}

/** What the user has had done by the agent's tools. */
function isUsers({ action, source }: RecordedAction): boolean {
  return source === 'user' && action !== 'message' && !isEnd({ action });
}

/** Ends the agent's work as its own `finish` does. */
function isUsersEnd({ action, source }: Recorded): boolean {
  return source === 'user' && isEnd({ action });
}

function isEnd({ action }: Pick<Recorded, 'action'>): boolean {
  return action === 'finish' || action === 'reject';
}

function saysUndone({ observation, extras }: Recorded): boolean {
  return observation === 'user_rejected' || (observation === 'error' && extras['error_id'] === STOPPED);
}

/** Stands for a question to the user; once it is confirmed the action comes again. */
function isHeldBack({ args }: Recorded): boolean {
  return args['confirmation_state'] === 'awaiting_confirmation' || args['confirmation_state'] === 'rejected';
}

function isUserMessage({ action, source }: Recorded): boolean {
  return action === 'message' && source === 'user';
}

function stepOf(recorded: RecordedAction, last: boolean): ReplayStep {
  const { action, args } = recorded;
  const content = textOf(args['content']);
  if (isUserMessage(recorded)) {
    const imageUrls = z.array(imageUrl).catch([]).parse(args['image_urls']);
    const fileUrls = z.array(z.string()).nullable().catch(null).parse(args['file_urls']);
    return { kind: 'user', content, imageUrls, fileUrls };
  }
  if (action === 'message') return { kind: 'said', text: content, waits: last };
  const call = callOf(action, args, recorded.timeout);
  if (!call) return { kind: 'unknown', action: action.slice(0, 100) };
  return { kind: 'call', call, thought: action === 'think' ? '' : textOf(args['thought']) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : '';
}
