/**
 * A model for the bench, on a free port that it prints: calls a tool at every turn, never the same way twice, as
 * often as asked, then says that it is done. It notes how long whoever asks took from the end of one answer to its
 * next request, which is all that is neither the model's time nor the wire's; `GET /gaps` gives them. Its argument is
 * the JSON of a {@link ModelSpec}; it ends with its standard input.
 */
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ModelSpec {
  /** Turns that call a tool. */
  steps: number;
  /** `think` needs no sandbox. */
  tool: 'think' | 'execute_bash';
  /** Milliseconds until it begins to answer. */
  delay: number;
  /** From this step on it takes requests and never answers them. */
  silentFrom?: number;
}

/** What one conversation's agent took between two requests. */
export interface Gap {
  /** What the conversation's first message calls it: `bench-7`. */
  conversation: string;
  /** The steps in its history. */
  step: number;
  ms: number;
}

const spec: ModelSpec = JSON.parse(process.argv[2] ?? '');
const gaps: Gap[] = [];
const turns = new Map<string, { step: number; ended: number }>();

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify(gaps));
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const arrived = performance.now();
    void answer(Buffer.concat(chunks).toString(), response, arrived);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`);
});
process.stdin.resume().on('end', () => process.exit());

async function answer(body: string, response: ServerResponse, arrived: number): Promise<void> {
  // Titles and the like come without tools, and beside the steps.
  if (!body.includes('"tools":[')) return send(response, { content: 'A title' });
  const conversation = /bench-\w+/.exec(body)?.[0] ?? '';
  const turn = turns.get(conversation) ?? { step: 0, ended: Number.NaN };
  turns.set(conversation, turn);
  if (turn.step > 0) gaps.push({ conversation, step: turn.step, ms: arrived - turn.ended });
  if (spec.silentFrom !== undefined && turn.step >= spec.silentFrom) return;
  if (spec.delay > 0) await sleep(spec.delay);
  turn.step += 1;
  if (turn.step > spec.steps) turns.delete(conversation);
  send(response, turn.step > spec.steps ? { content: 'Done.' } : callOf(turn.step));
  turn.ended = performance.now();
}

function callOf(step: number) {
  const input =
    spec.tool === 'think'
      ? {
          thought: `Step ${step}: the parser reads a line, and the test of it wants another one than it gives.`,
        }
      : { command: `true ${step}` };
  const call = { name: spec.tool, arguments: JSON.stringify(input) };
  return { tool_calls: [{ index: 0, id: `call_${step}`, type: 'function', function: call }] };
}

function send(response: ServerResponse, delta: object): void {
  const chunk = (choices: object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: 'bench', object: 'chat.completion.chunk', created: 0, model: 'bench', choices, ...more })}\n\n`;
  const finish = 'tool_calls' in delta ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    chunk([{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }]) +
      chunk([{ index: 0, delta: {}, finish_reason: finish }]) +
      chunk([], { usage }) +
      'data: [DONE]\n\n',
  );
}
