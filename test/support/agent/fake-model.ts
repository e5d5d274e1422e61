import type {
  LanguageModelV4,
  LanguageModelV4Prompt as Prompt,
  LanguageModelV4StreamPart as Part,
} from '@ai-sdk/provider';

import { ImageSource } from '../../../src/model/images.ts';
import { Sight } from '../../../src/model/sight.ts';
import type { RunModel } from '../../../src/model/run-model.ts';

/** One answer: a text, calls, or an error that the provider's client throws. */
export interface Scripted {
  text?: string;
  /** `input`: a string is sent as it stands. */
  calls?: { name: string; input: object | string; id?: string }[];
  error?: Error;
  usage?: { prompt: number; completion: number };
  /** The stream breaks off before its end. */
  broken?: boolean;
  /** Done before the answer, as if it happened meanwhile; never resolving holds the answer back. */
  meanwhile?: () => void | Promise<void>;
}

export type { Prompt };

/**
 * A list answers by the turn that the request asks for, so without memory: a run that takes over gets the same answer.
 * A list within it is used up one by one by the requests for that turn.
 */
export type Script = readonly (Scripted | Scripted[])[] | ((prompt: Prompt) => Scripted);

export class FakeModel {
  readonly prompts: Prompt[] = [];
  readonly runModel: RunModel;
  /** The limits of their answers that requests gave. */
  readonly limits: (number | undefined)[] = [];
  readonly #script: Script;

  constructor(script: Script, name = 'test/scripted', window = 128_000) {
    this.#script = script;
    const model: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'test',
      modelId: name,
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('answers are streamed')),
      doStream: async ({ prompt, abortSignal, maxOutputTokens }) => {
        this.prompts.push(structuredClone(prompt));
        this.limits.push(maxOutputTokens);
        const answer = this.#answer(prompt);
        await untilAborted(answer.meanwhile?.(), abortSignal);
        if (answer.error) throw answer.error;
        return { stream: streamOf(partsOf(answer, this.prompts.length), answer.broken) };
      },
    };
    this.runModel = {
      name,
      open: async () => model,
      window,
      key: null,
      images: new ImageSource(() => Promise.reject(new Error('nothing is fetched'))),
      sight: new Sight(),
    };
  }

  #answer(prompt: Prompt): Scripted {
    if (typeof this.#script === 'function') return this.#script(prompt);
    const turn = prompt.filter(({ role }) => role === 'assistant').length;
    const entry = this.#script[turn];
    const answer = Array.isArray(entry) ? (entry.length > 1 ? entry.shift() : entry[0]) : entry;
    if (!answer) throw Object.assign(new Error(`the script has no turn ${turn}`), { statusCode: 400 });
    return answer;
  }
}

async function untilAborted(waited: void | Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
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

function streamOf(parts: Part[], broken = false): ReadableStream<Part> {
  const waiting = broken ? parts.slice(0, -1) : [...parts];
  return new ReadableStream({
    pull(controller) {
      const part = waiting.shift();
      if (part) controller.enqueue(part);
      else if (broken) controller.error(new Error('The connection was closed.'));
      else controller.close();
    },
  });
}
