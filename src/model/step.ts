import type { asSchema, FlexibleSchema, ModelMessage, SystemModelMessage, ToolSet } from 'ai';

import type { ModelOutcome } from './answer.ts';
import { Deadline, DEADLINES, type Deadlines } from './deadline.ts';
import { failure, failureOf, type ModelFailure } from './failure.ts';
import type { RunModel } from './run-model.ts';
import { showsImages } from './sight.ts';
import { StepReader, type Stream } from './step-reader.ts';

export interface ModelRequest {
  model: RunModel;
  system: string;
  messages: readonly ModelMessage[];
  /** Without `execute`: whoever asks makes the calls. Inputs are checked against their schemas. */
  tools: ToolSet;
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

async function openStream(request: ModelRequest, signal: AbortSignal): Promise<Stream> {
  const [{ streamText, asSchema }, model] = await Promise.all([import('ai'), request.model.open()]);
  // It would print them.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const { stream } = streamText({
    model,
    instructions: cached({ role: 'system', content: request.system }),
    messages: request.messages.map((message, n) =>
      n === request.messages.length - 1 ? cached(message) : message,
    ),
    tools: written(request.tools, asSchema),
    ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    abortSignal: signal,
    // Retries are ours: they are shown to the user, and they cover streams that break.
    maxRetries: 0,
    // OpenAI keeps conversations unless told not to.
    providerOptions: { openai: { store: false } },
    telemetry: { isEnabled: false },
    experimental_download: request.model.images.download(signal),
    // Failures come as parts of the stream; the default handler prints them.
    onError: () => {},
  });
  return stream;
}

/** Schemas of tools as they go over the wire: to write them out takes longer than the rest of a request. */
const schemas = new WeakMap<FlexibleSchema, ReturnType<typeof asSchema>>();

function written(tools: ToolSet, write: typeof asSchema): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const inputSchema = schemas.get(tool.inputSchema) ?? write(tool.inputSchema);
      schemas.set(tool.inputSchema, inputSchema);
      return [name, { ...tool, inputSchema }];
    }),
  );
}

/** Anthropic keeps what stands before such a mark for the next call, at a tenth of the price; others ignore it. */
function cached<Message extends SystemModelMessage | ModelMessage>(message: Message): Message {
  const anthropic = { ...message.providerOptions?.['anthropic'], cacheControl: { type: 'ephemeral' } };
  return { ...message, providerOptions: { ...message.providerOptions, anthropic } };
}

function silent(begun: boolean): ModelFailure {
  return begun
    ? failure('interrupted', 'The model stopped in the middle of its answer and said no more.')
    : failure('unavailable', 'The model did not answer in time.');
}
