import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, say } from '../test/support/model-answers.ts';
import { spawnModelServer } from '../test/support/model-process.ts';
import { median } from './median.ts';
import { freePort, ServerProgram } from './program.ts';
import type { Row } from './row.ts';

const CONVERSATIONS = 20;
const GOAL_MS = 150;
const DEADLINE_MS = 30_000;
const KEY = 'a-key-of-the-bench-long-enough';

/** From the POST that creates a conversation without a repository until its first command's output is read. */
export async function firstOutputRow(): Promise<Row> {
  const data = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    return await measure(data);
  } finally {
    await rm(data, { recursive: true });
  }
}

async function measure(data: string): Promise<Row> {
  await using model = await spawnModelServer({
    byTurn: [call('execute_bash', { command: 'echo hello' }), say('Done.')],
  });
  const port = await freePort();
  await using app = await ServerProgram.start(['src/main.ts', 'serve'], port, {
    PORT: String(port),
    PARLEY_DATA_DIR: data,
    PARLEY_RATE_LIMIT: '0',
    PARLEY_MAX_RUNNING: '100,100',
    SESSION_API_KEY: KEY,
  });
  const post = (path: string, body: unknown) => send(app.port, path, body);
  await post('/api/settings', {
    llm_model: 'openai/scripted',
    llm_base_url: model.baseUrl,
    llm_api_key: 'any-key-at-all',
  });

  const runs: number[] = [];
  // The first one also loads what only conversations need.
  await firstOutput(app.port, 'warm-up');
  for (let n = 0; n < CONVERSATIONS; n += 1) runs.push(await firstOutput(app.port, `number-${n}`));
  const middle = median(runs);
  return {
    name: "POST /api/conversations to the first command's output, without a repository",
    measured: `${middle.toFixed(0)} ms, slowest ${Math.max(...runs).toFixed(0)} ms`,
    limit: '',
    result: `${middle.toFixed(0)} ms`,
    goal: `< ${GOAL_MS} ms`,
    reached: middle < GOAL_MS,
    runs,
  };
}

async function firstOutput(port: number, id: string): Promise<number> {
  const begun = performance.now();
  await send(port, '/api/conversations', { conversation_id: id, initial_user_msg: 'Say hello.' });
  const stream = await fetch(`http://127.0.0.1:${port}/api/conversations/${id}/events/stream`, {
    headers: { 'X-Session-API-Key': KEY },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  if (!stream.ok || !stream.body) throw new Error(`the stream answered ${stream.status}`);
  let received = '';
  for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
    received += chunk;
    const error = /"observation":"error","content":"([^"]*)"/.exec(received)?.[1];
    if (error !== undefined) throw new Error(`conversation ${id}: ${error}`);
    if (received.includes('"observation":"run"')) return performance.now() - begun;
  }
  throw new Error('the stream ended without the output of a command');
}

async function send(port: number, path: string, body: unknown): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`);
  await reply.arrayBuffer();
}
