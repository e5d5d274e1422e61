import type { StreamTextResult, ToolSet } from 'ai';

import { failure } from './failure.ts';
import type { ModelCall, ModelOutcome, ModelUsage } from './answer.ts';

export type Stream = StreamTextResult<ToolSet, Record<string, unknown>, never>['stream'];
type StreamPart = Stream extends AsyncIterable<infer Part> ? Part : never;

const NOTHING: ModelUsage = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Puts the parts of an answer together, and says whether it is one. */
export class StepReader {
  /** The first failure. Those after it only say that there was one. */
  error: unknown;
  begun = false;
  readonly #onPiece: ((delta: string) => void) | undefined;
  readonly #calls: ModelCall[] = [];
  #id = '';
  #text = '';
  #finish = 'unknown';
  #usage: ModelUsage = NOTHING;

  constructor(onPiece: ((delta: string) => void) | undefined) {
    this.#onPiece = onPiece;
  }

  failed(error: unknown): void {
    this.error ??= error;
  }

  read(part: StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.#text += part.text;
        this.#took(part.text);
        break;
      case 'reasoning-delta':
        this.#took(part.text);
        break;
      case 'tool-input-delta':
        this.#took(part.delta);
        break;
      case 'tool-input-start':
        this.begun = true;
        break;
      case 'tool-call':
        this.begun = true;
        this.#calls.push(this.#call(part));
        break;
      case 'finish-step': {
        const { inputTokens = 0, outputTokens = 0, inputTokenDetails } = part.usage;
        this.#id = part.response.id;
        this.#finish = part.finishReason;
        this.#usage = {
          promptTokens: inputTokens,
          completionTokens: outputTokens,
          cacheReadTokens: inputTokenDetails.cacheReadTokens ?? 0,
          cacheWriteTokens: inputTokenDetails.cacheWriteTokens ?? 0,
        };
        break;
      }
      case 'error':
        this.failed(part.error);
        break;
      default:
    }
  }

  /** @param waited whether it was given up while it may have been at work */
  used(waited: boolean): { used?: ModelUsage } {
    if (this.#finish !== 'unknown') return { used: this.#usage };
    return this.begun || waited ? { used: NOTHING } : {};
  }

  outcome(latencyMs: number): ModelOutcome {
    const used = this.used(false);
    if (this.#finish === 'content-filter') {
      return {
        ok: false,
        failure: failure('content_policy', "The provider's content filter ended the answer."),
        ...used,
      };
    }
    if (this.#finish === 'error' || this.#finish === 'unknown') {
      return {
        ok: false,
        failure: failure('interrupted', "The model's answer ended before it was whole."),
        ...used,
      };
    }
    if (this.#text.trim() === '' && this.#calls.length === 0) {
      return { ok: false, failure: failure('unavailable', 'The model gave an empty answer.'), ...used };
    }
    const calls = this.#finish === 'length' ? this.#calls.map(cutShort) : this.#calls;
    const step = { id: this.#id, text: this.#text, calls, usage: this.#usage, latencyMs };
    return { ok: true, step };
  }

  #took(piece: string): void {
    this.begun = true;
    this.#onPiece?.(piece);
  }

  #call(part: Extract<StreamPart, { type: 'tool-call' }>): ModelCall {
    const metadata = part.providerMetadata === undefined ? {} : { metadata: part.providerMetadata };
    const call = { id: part.toolCallId, name: part.toolName, ...metadata };
    if (!('invalid' in part) || part.invalid !== true) return { ...call, valid: true, input: part.input };
    const raw = typeof part.input === 'string' ? part.input : JSON.stringify(part.input);
    return { ...call, valid: false, raw, problem: problemOf(part.error) };
  }
}

function cutShort(call: ModelCall): ModelCall {
  if (call.valid) return call;
  return {
    ...call,
    problem: `${call.problem} (the answer was cut at its greatest length: write less at once)`,
  };
}

/** What the model needs to know to call right: the innermost cause, which is the parser's or the schema's word. */
function problemOf(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  if (!(cause instanceof Error)) return String(cause);
  if (cause instanceof SyntaxError) return `The arguments are not JSON: ${cause.message}`;
  const issues = 'issues' in cause && Array.isArray(cause.issues) ? cause.issues : [];
  const lines = issues.map(({ path, message }: { path?: unknown[]; message?: string }) =>
    [path?.join('.'), message].filter(Boolean).join(': '),
  );
  return lines.length > 0 ? lines.join('; ') : cause.message;
}
