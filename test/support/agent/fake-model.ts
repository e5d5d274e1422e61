import { MockLanguageModelV4 } from 'ai/test';

import type { RunModel } from '../../../src/model/run-model.ts';

type StreamOf = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'];
type Part = StreamOf extends ReadableStream<infer P> ? P : never;
type Prompt = Parameters<MockLanguageModelV4['doStream']>[0]['prompt'];

/** One answer: a text, calls, or an error that the provider's client throws. */
export interface Scripted {
  text?: string;
  /** `input`: a string is sent as it stands. */
  calls?: { name: string; input: object | string; id?: string }[];
  error?: Error;
  usage?: { prompt: number; completion: number };
  /** Done before the answer, as if it happened meanwhile; never resolving holds the answer back. */
  meanwhile?: () => void | Promise<void>;
}

/**
 * Answers by the turn that the request asks for, so without memory: a run that takes over gets the same answer. A
 * list within the script is used up one by one by the requests for that turn.
 */
export class FakeModel {
  readonly prompts: Prompt[] = [];
  readonly runModel: RunModel;
  readonly #script: readonly (Scripted | Scripted[])[];

  constructor(script: readonly (Scripted | Scripted[])[], name = 'test/scripted') {
    this.#script = script;
    const model = new MockLanguageModelV4({
      doStream: async ({ prompt, abortSignal }) => {
        this.prompts.push(structuredClone(prompt));
        const answer = this.#answer(prompt.filter(({ role }) => role === 'assistant').length);
        await untilAborted(answer.meanwhile?.(), abortSignal);
        if (answer.error) throw answer.error;
        return { stream: streamOf(partsOf(answer, this.prompts.length)) };
      },
    });
    this.runModel = {
      name,
      open: async () => model,
      key: null,
      fetch: () => Promise.reject(new Error('nothing is fetched')),
    };
  }

  #answer(turn: number): Scripted {
    const entry = this.#script[turn];
    const answer = Array.isArray(entry) ? (entry.length > 1 ? entry.shift() : entry[0]) : entry;
    if (!answer) throw Object.assign(new Error(`the script has no turn ${turn}`), { statusCode: 400 });
    return answer;
  }
}

async function untilAborted(waited: void | Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    await Promise.race([waited, aborted.promise]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function partsOf(
  { text = '', calls = [], usage = { prompt: 10, completion: 5 } }: Scripted,
  n: number,
): Part[] {
  const words: Part[] = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
  ];
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: `answer-${n}` },
    ...(text === '' ? [] : words),
    ...calls.map(({ name, input, id }, index): Part => ({
      type: 'tool-call',
      toolCallId: id ?? `call-${index}`,
      toolName: name,
      input: typeof input === 'string' ? input : JSON.stringify(input),
    })),
    {
      type: 'finish',
      finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
      usage: {
        inputTokens: { total: usage.prompt, noCache: usage.prompt, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: usage.completion, text: usage.completion, reasoning: 0 },
      },
    },
  ];
}

function streamOf(parts: Part[]): ReadableStream<Part> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
