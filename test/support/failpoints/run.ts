import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { type Event, isAction } from '../../../src/events/event.ts';
import { MINE, saidGate } from './script.ts';
import { GIT_TOKEN } from '../git/forge.ts';
import type { GitServer } from '../git/git-server.ts';
import type { ModelServer } from '../model/server.ts';
import { type Parley, prepareParley, type Reply, type View } from '../parley.ts';
import { PATIENCE_MS } from '../eventually.ts';

/** What all runs share. */
export interface Ground {
  forge: GitServer;
  model: ModelServer;
}

/** What one scripted run left, with the service stopped and its data directory still there. */
export interface Left {
  /** How often the service ended and was started again. */
  kills: number;
  /** Whether the run came to its failpoint. */
  met: boolean;
  /** The tables that each write of the preloaded processes changed, in their order. */
  writes: string[];
  view: View;
  settings: unknown;
  events: Event[];
  /** The row of the conversation as stored. */
  row: Record<string, unknown>;
  openActions: number;
  /** `/workspace/ran`. */
  ran: string;
  dataDir: string;
  output: string;
}

const PRELOAD = fileURLToPath(new URL('failpoint.ts', import.meta.url));
const CLOCK = fileURLToPath(new URL('clock.ts', import.meta.url));
export const FIRST = 'Do the work, then push.';
export const SECOND = 'And mind the tests.';

/** What happens in a run. */
export interface Failpoint {
  /** See failpoint.ts. */
  at: string;
  /** In each process, not in the first alone. */
  each: boolean;
  /** Milliseconds that the clock of the second process is off. */
  clockOff: number;
}

/**
 * The scripted run of one conversation: settings, token, creation, a message and a command of the user's own in the
 * middle, to the end, with what `failpoint` says (null: nothing) on the way. What failed because nobody answered, or
 * nothing could be stored, is sent again, as a client does that wants an answer; the command only when the log has not
 * got it, as it would be run twice. `look` sees what is left before it is removed.
 */
export async function scriptedRun(
  { forge, model }: Ground,
  name: string,
  failpoint: Failpoint | null,
  look: (left: Left) => Promise<void>,
): Promise<void> {
  const notes = await mkdtemp(join(tmpdir(), 'parley-failpoint-'));
  const trace = join(notes, 'writes');
  const parley = await prepareParley();
  let kills = 0;
  const preloaded = {
    node: ['--import', PRELOAD],
    env: { FAILPOINT_TRACE: trace, ...(failpoint && { FAILPOINT: failpoint.at }) },
  };
  const startAgain = async (): Promise<void> => {
    kills += 1;
    if (failpoint?.each === true) return await parley.start(preloaded).catch(unlessDead);
    const env = { CLOCK_OFF_MS: String(failpoint?.clockOff ?? 0) };
    await parley.start({ node: ['--import', CLOCK], env });
  };
  const unlessDead = (error: unknown): void => {
    if (failpoint === null || parley.running) throw error;
  };

  /** As often as it takes to be answered; starts the service again when it is dead. */
  async function ask(method: string, path: string, body?: unknown): Promise<Reply> {
    for (const deadline = Date.now() + PATIENCE_MS; ;) {
      try {
        const reply = parley.running ? await parley.request(method, path, body) : null;
        if (reply && (reply.status !== 503 || Date.now() > deadline)) return reply;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
      if (parley.running) await new Promise((resolve) => setTimeout(resolve, 5));
      else await startAgain();
    }
  }
  const reached = async (method: string, path: string, body: unknown): Promise<boolean> => {
    const reply = parley.running ? await parley.request(method, path, body).catch(() => null) : null;
    return reply?.status === 200;
  };
  async function ok(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await ask(method, path, body);
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }
  async function until<T>(look: () => Promise<T>, is: (seen: T) => boolean): Promise<T> {
    for (const deadline = Date.now() + PATIENCE_MS; ;) {
      const seen = await look();
      if (is(seen)) return seen;
      if (Date.now() > deadline) throw new Error(`in vain: ${JSON.stringify(seen)}\n${parley.output()}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
  const id = `/api/conversations/${name}`;
  const view = async (): Promise<View> => (await ok('GET', id)) as View;
  const events = async (): Promise<Event[]> => {
    const page = (await ok('GET', `${id}/events?limit=100`)) as { events: Event[]; has_more: boolean };
    if (page.has_more) throw new Error('The run has more events than one page');
    return page.events;
  };

  try {
    await parley.start(preloaded).catch(unlessDead);
    await ok('POST', '/api/settings', {
      llm_model: `openai/${name}`,
      llm_api_key: 'sk-a-model-key',
      llm_base_url: model.baseUrl,
    });
    await ok('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: GIT_TOKEN, host: forge.base } },
    });
    await ok('POST', '/api/conversations', {
      conversation_id: name,
      repository: 'acme/app',
      git_provider: 'github',
      initial_user_msg: FIRST,
    });
    // The run then waits for the model, which waits for the message: the writes come in one order only.
    await until(events, (now) => hasOutcome(now, 'e'));
    await ok('POST', `${id}/message`, { message: SECOND });
    const own = { action: 'run', args: { command: MINE } };
    await until(
      async () => (await reached('POST', `${id}/events`, own)) || (await events()).some(isMine),
      (there) => there,
    );
    model.open(saidGate(name));
    await until(view, ({ agent_state }) => ['finished', 'error', 'stopped'].includes(agent_state));
    await until(view, ({ runtime_status }) => runtime_status === 'STATUS$READY');
    // The end of the run is a write of its own, which may have to wait for room.
    await until(
      async () => (await view()) && stored(parley.dataDir, name).row,
      ({ driver }) => driver === null,
    );
    const left = { view: await view(), events: await events(), settings: await ok('GET', '/api/settings') };
    if ((await parley.stop()) === null) {
      // Killed at the last write of all, the one of the stop: the next start cleans up.
      kills += 1;
      await parley.start();
      await parley.stop();
    }
    await look({
      ...left,
      kills,
      met: existsSync(`${trace}.met`),
      writes: (await readFile(trace, 'utf8')).trimEnd().split('\n'),
      ...stored(parley.dataDir, name),
      ran: await readFile(join(parley.dataDir, 'workspaces/1/workspace/ran'), 'utf8'),
      dataDir: parley.dataDir,
      output: parley.output(),
    });
  } finally {
    await close(parley);
    await rm(notes, { recursive: true, force: true });
  }
}

async function close(parley: Parley): Promise<void> {
  if (parley.running) await parley.stop();
  await parley.close();
}

export function isMine(event: Event): boolean {
  return isAction(event, 'run') && event.source === 'user';
}

function hasOutcome(events: readonly Event[], call: string): boolean {
  const asked = events.find((event) => 'action' in event && event.tool_call_metadata?.tool_call_id === call);
  return events.some((event) => 'observation' in event && asked !== undefined && event.cause === asked.id);
}

function stored(dataDir: string, name: string): Pick<Left, 'row' | 'openActions'> {
  const database = new DatabaseSync(join(dataDir, 'parley.db'), { readOnly: true });
  try {
    const row = database.prepare('select * from conversations where id = ?').get(name);
    const open = database.prepare('select count(*) as open from open_actions').get();
    return { row: { ...row }, openActions: Number(open?.['open']) };
  } finally {
    database.close();
  }
}
