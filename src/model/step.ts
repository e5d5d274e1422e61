import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';

import { unlessAborted } from '../unless-aborted.ts';
import type { ModelOutcome } from './answer.ts';
import { Deadline, DEADLINES, type Deadlines } from './deadline.ts';
import { failure, failureOf, type ModelFailure } from './failure.ts';
import type { Message, ModelTool } from './message.ts';
import type { RunModel } from './run-model.ts';
import { showsImages } from './sight.ts';
import { StepReader } from './step-reader.ts';

export interface ModelRequest {
  model: RunModel;
  system: string;
  messages: readonly Message[];
  tools: readonly ModelTool[];
  signal: AbortSignal;
  /** Pieces of the answer as they come: its text, what the model thinks, arguments. Before a failure they were no answer. */
  onPiece?: (delta: string) => void;
  /** The longest answer, in tokens; the provider's own limit when not given. */
  maxOutputTokens?: number;
  deadlines?: Deadlines;
}

/**
 * Asks the model once and reads its answer to the end. A stream that is cut, an answer that is empty, and a deadline
 * that passes are failures. Images that are refused are not: it is asked again without them, and `model.sight` knows.
 * @throws the signal's reason, when it aborts
 */
export async function modelStep(request: ModelRequest): Promise<ModelOutcome> {
  const { sight } = request.model;
  for (;;) {
    const outcome = await attempt({ ...request, messages: sight.shown(request.messages) });
    if (outcome.ok || !outcome.failure.unseen || !sight.learn(outcome.failure.unseen)) return outcome;
  }
}

async function attempt(request: ModelRequest): Promise<ModelOutcome> {
  const { model, signal } = request;
  signal.throwIfAborted();
  using deadline = new Deadline(request.deadlines ?? DEADLINES);
  const reader = new StepReader(request.onPiece);
  const began = performance.now();
  try {
    const stream = await openStream(request, AbortSignal.any([signal, deadline.signal]));
    for await (const part of stream) {
      deadline.sign();
      reader.read(part);
    }
  } catch (error) {
    reader.failed(error);
  }
  signal.throwIfAborted();
  const used = reader.used(deadline.signal.aborted);
  if (deadline.signal.aborted) return { ok: false, failure: silent(reader.begun), ...used };
  if (reader.error !== undefined) {
    const images = showsImages(request.messages);
    const failed = failureOf(reader.error, { begun: reader.begun, key: model.key, images });
    return { ok: false, failure: failed, ...used };
  }
  return reader.outcome(Math.round(performance.now() - began));
}

/**
 * By the provider's client itself: what the SDK has around it for whole agents looks through the whole history once
 * more at every step, which took longer than the rest of a request.
 */
async function openStream(
  { model, system, messages, tools, maxOutputTokens }: ModelRequest,
  signal: AbortSignal,
): Promise<ReadableStream<LanguageModelV4StreamPart>> {
  const client = await model.open();
  const shown = await model.images.fetched(messages, await client.supportedUrls, signal);
  const last = shown.at(-1);
  const options: LanguageModelV4CallOptions = {
    prompt: [
      cached({ role: 'system', content: system }),
      ...shown.slice(0, -1),
      ...(last ? [cached(last)] : []),
    ],
    ...(tools.length > 0 && { tools: [...tools], toolChoice: { type: 'auto' } }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    abortSignal: signal,
    // OpenAI keeps conversations unless told not to.
    providerOptions: { openai: { store: false } },
  };
  // Whatever `fetch` does: who stops a run does not wait for its model.
  const { stream } = await unlessAborted(Promise.resolve(client.doStream(options)), signal);
  return stream;
}

/** Anthropic keeps what stands before such a mark for the next call, at a tenth of the price; others ignore it. */
function cached(message: Message): Message {
  const anthropic = { ...message.providerOptions?.['anthropic'], cacheControl: { type: 'ephemeral' } };
  return { ...message, providerOptions: { ...message.providerOptions, anthropic } };
}

function silent(begun: boolean): ModelFailure {
  return begun
    ? failure('interrupted', 'The model stopped in the middle of its answer and said no more.')
    : failure('unavailable', 'The model did not answer in time.');
}
