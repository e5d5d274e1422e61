import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';

import type { Answer, Message, ShapeName } from './answers.ts';
import type { ModelRequest } from './script.ts';
import { anthropicShape } from './shapes/anthropic.ts';
import { geminiShape } from './shapes/gemini.ts';
import { llamaCppShape } from './shapes/llama-cpp.ts';
import { mistralShape } from './shapes/mistral.ts';
import { openaiShape } from './shapes/openai.ts';
import type { Shape } from './shapes/shape.ts';
import { vllmShape } from './shapes/vllm.ts';
import { wholeCompletion } from './shapes/whole.ts';

const SHAPES: Record<ShapeName, Shape> = {
  openai: openaiShape,
  vllm: vllmShape,
  'llama-cpp': llamaCppShape,
  gemini: geminiShape,
  mistral: mistralShape,
};

/** What an answer needs of the server that plays it. */
export interface Stage {
  speaks: 'openai' | 'anthropic';
  request: ModelRequest;
  /** How often this answer was given before. */
  attempt(answer: Answer): number;
  gate(name: string): Promise<void>;
  /** Aborts when the client has gone or the server closes. */
  signal: AbortSignal;
}

interface Manner {
  shape: Shape;
  tornBytes?: number;
  end: 'whole' | 'cut' | 'stall';
  after: number;
}

/** Gives one answer, from the wait before it to the end of the response. */
export async function play(answer: Answer, stage: Stage, response: ServerResponse): Promise<void> {
  const shape = stage.speaks === 'anthropic' ? anthropicShape : openaiShape;
  let manner: Manner = { shape, end: 'whole', after: Infinity };
  let inner = answer;
  for (;;) {
    switch (inner.kind) {
      case 'gate':
        await Promise.race([stage.gate(inner.name), ended(stage.signal)]);
        if (stage.signal.aborted) return;
        break;
      case 'shaped':
        manner = { ...manner, shape: SHAPES[inner.shape] };
        break;
      case 'torn':
        manner = { ...manner, tornBytes: inner.bytes };
        break;
      case 'cut':
      case 'stall':
        manner = { ...manner, end: inner.kind, after: inner.after };
        break;
      case 'attempts': {
        const next = inner.answers[stage.attempt(inner)] ?? inner.answers.at(-1);
        if (!next) throw new Error('attempts() needs an answer');
        inner = next;
        continue;
      }
      case 'silence':
        return await ended(stage.signal);
      case 'status': {
        const { status, headers, body } = inner;
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
        return;
      }
      case 'raw':
        return await stream(inner.chunks, manner, stage, response);
      case 'message':
        return await give(inner, manner, stage, response);
    }
    inner = inner.answer;
  }
}

async function give(message: Message, manner: Manner, stage: Stage, response: ServerResponse): Promise<void> {
  const { body, turn } = stage.request;
  const includeUsage = body.stream_options?.include_usage === true;
  const request = { model: body.model ?? 'scripted', turn, includeUsage };
  if (body.stream === true) return await stream(manner.shape(message, request), manner, stage, response);
  if (stage.speaks === 'anthropic')
    throw new Error('The scripted Messages API answers streaming requests only.');
  const whole = JSON.stringify(wholeCompletion(message, request));
  response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
}

async function stream(
  events: string[],
  manner: Manner,
  stage: Stage,
  response: ServerResponse,
): Promise<void> {
  if (manner.end === 'cut' && manner.after === 0) {
    response.destroy();
    return;
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
  response.socket?.setNoDelay(true);
  for (const piece of torn(events.slice(0, manner.after), manner.tornBytes)) {
    if (stage.signal.aborted) return;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), ended(stage.signal)]);
    // Lets each piece leave on its own: written in one turn of the event loop they would arrive as one.
    await setImmediate();
  }
  if (manner.end === 'stall') return await ended(stage.signal);
  if (manner.end === 'cut') response.destroy();
  else response.end();
}

function torn(events: string[], bytes: number | undefined): (string | Buffer)[] {
  if (bytes === undefined) return events;
  const whole = Buffer.from(events.join(''));
  const result: Buffer[] = [];
  for (let at = 0; at < whole.length; at += bytes) result.push(whole.subarray(at, at + bytes));
  return result;
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
