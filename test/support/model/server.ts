/**
 * A model server that says what a test tells it to: real HTTP on loopback, speaking OpenAI's Chat Completions
 * (streaming and whole) and Anthropic's Messages (streaming).
 *
 * In a process of its own: `node test/support/model/server.ts --script file.json [--port 0]` prints its port on a
 * line and serves until SIGTERM, or with `--stop-with-stdin` until its standard input ends. There tests look at
 * `GET /control/requests` and open gates by `POST /control/gates/NAME`.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

import { TITLE_PROMPT } from '../../../src/agent/title.ts';
import { say, type Answer } from './answers.ts';
import { play, type Stage } from './play.ts';
import { answerOf, requestBody, scriptOfFile, type ModelRequest, type Script } from './script.ts';
import { PATIENCE_MS } from '../eventually.ts';

export interface ModelServer extends AsyncDisposable {
  readonly port: number;
  /** What `llm_base_url` takes: `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Requests for a title, which come beside the steps: no script counts them. */
  readonly titles: readonly ModelRequest[];
  /** What requests for a title are answered with; with nothing when it was not called. */
  answerTitles(answer: Answer): void;
  /** The request of that number (from 0), once it has come; fails after `ms`. */
  request(index: number, ms?: number): Promise<ModelRequest>;
  /** Opens a `gate(name, …)`, for requests that wait there and all that follow. */
  open(gate: string): void;
  /** Replaces the script; a list then begins with the next request. */
  play(script: Script): void;
  /** Resolves when the condition on what has come holds; looked at whenever a request comes or ends. */
  until(holds: (requests: readonly ModelRequest[]) => boolean, ms?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startModelServer(script: Script = [], port = 0): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const titles: ModelRequest[] = [];
  let title: Answer = say('');
  const watchers = new Set<() => void>();
  const attempts = new Map<Answer, number>();
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const closing = new AbortController();
  let current: { script: Script; from: number } = { script, from: 0 };

  const changed = () => {
    for (const look of watchers) look();
  };
  const gate = (name: string) => {
    const known = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, known);
    return known;
  };

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = incoming.url ?? '/';
    if (path.startsWith('/control/')) return control(incoming, path, response);
    const speaks = protocolOf(path);
    if (incoming.method !== 'POST' || !speaks)
      return reply(response, 404, { error: `No ${incoming.method} ${path}` });

    const body = requestBody.parse(await json(incoming));
    const turn = body.messages.filter((message) => message.role === 'assistant').length;
    const aside = JSON.stringify(body).includes(JSON.stringify(TITLE_PROMPT));
    const list = aside ? titles : requests;
    const request = { index: list.length, path, headers: incoming.headers, body, turn, abandoned: false };
    list.push(request);
    const gone = new AbortController();
    response.once('close', () => {
      request.abandoned = !response.writableFinished;
      gone.abort();
      changed();
    });
    changed();
    const stage: Stage = {
      speaks,
      request,
      attempt(answer) {
        const n = attempts.get(answer) ?? 0;
        attempts.set(answer, n + 1);
        return n;
      },
      gate: (name) => gate(name).promise,
      signal: AbortSignal.any([gone.signal, closing.signal]),
    };
    const answer = aside ? title : await answerOf(current.script, request, request.index - current.from);
    await play(answer, stage, response);
  }

  function control(incoming: IncomingMessage, path: string, response: ServerResponse): void {
    const name = /^\/control\/gates\/([^/]+)$/.exec(path)?.[1];
    if (incoming.method === 'GET' && path === '/control/requests') return reply(response, 200, requests);
    if (incoming.method !== 'POST' || name === undefined)
      return reply(response, 404, { error: `No ${path}` });
    gate(decodeURIComponent(name)).resolve();
    reply(response, 200, {});
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      // A client that goes away in the middle is what many tests are about.
      if (response.destroyed) return;
      if (response.headersSent) response.destroy();
      else reply(response, 400, { error: { message: String(error), type: 'model_server' } });
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The model server has no port');

  async function until(
    holds: (requests: readonly ModelRequest[]) => boolean,
    ms = PATIENCE_MS,
  ): Promise<void> {
    if (holds(requests)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (holds(requests)) resolve();
    };
    const late = () =>
      reject(new Error(`The model server waited ${ms} ms in vain; ${requests.length} requests came.`));
    const timer = setTimeout(late, ms);
    watchers.add(look);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      watchers.delete(look);
    }
  }

  async function close(): Promise<void> {
    closing.abort();
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  }

  return {
    port: address.port,
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    requests,
    titles,
    answerTitles(answer) {
      title = answer;
    },
    async request(index, ms) {
      await until(() => requests.length > index, ms);
      const request = requests[index];
      if (!request) throw new Error(`No request ${index}`);
      return request;
    },
    open: (name) => gate(name).resolve(),
    play(script) {
      current = { script, from: requests.length };
    },
    until,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function protocolOf(path: string): 'openai' | 'anthropic' | null {
  if (path.endsWith('/chat/completions')) return 'openai';
  return path.endsWith('/messages') ? 'anthropic' : null;
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      script: { type: 'string' },
      port: { type: 'string', default: '0' },
      'stop-with-stdin': { type: 'boolean', default: false },
    },
  });
  if (values.script === undefined) throw new Error('--script FILE is missing');
  const script = scriptOfFile(await readFile(values.script, 'utf8'));
  const server = await startModelServer(script, Number(values.port));
  process.stdout.write(`${server.port}\n`);
  process.once('SIGTERM', () => void server.close());
  if (values['stop-with-stdin']) process.stdin.resume().once('end', () => void server.close());
}
