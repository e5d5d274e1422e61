import { randomUUID } from 'node:crypto';
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart as StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

import { isTooDeep, MAX_DEPTH } from '../nesting.ts';
import { failure } from './failure.ts';
import type { ModelCall, ModelOutcome, ModelUsage } from './answer.ts';

/** Characters of one answer, its thoughts and arguments with it: ten times what models write at most. */
const MOST_CHARACTERS = 8_000_000;
const TOO_LONG = `The answer has more than ${MOST_CHARACTERS.toLocaleString('en')} characters.`;
const NOTHING: ModelUsage = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Tokens of one call: more than any window. */
const MOST_TOKENS = 100_000_000;

/** Puts the parts of an answer together, and says whether it is one. */
export class StepReader {
  /** The first failure. Those after it only say that there was one. */
  error: unknown;
  begun = false;
  readonly #onPiece: ((delta: string) => void) | undefined;
  readonly #calls: ModelCall[] = [];
  /** What has come of calls that are not whole yet, by their id. */
  readonly #begunCalls = new Map<string, { name: string; raw: string }>();
  /** The provider's, when it says one. */
  #id: string = randomUUID();
  #text = '';
  #characters = 0;
  /** Interrupted, until the provider says how the answer ended. */
  #finish: LanguageModelV4FinishReason['unified'] = 'interrupted';
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
        this.#text += part.delta;
        this.#took(part.delta);
        break;
      case 'reasoning-delta':
        this.#took(part.delta);
        break;
      case 'tool-input-start':
        this.begun = true;
        this.#begunCalls.set(part.id, { name: part.toolName, raw: '' });
        break;
      case 'tool-input-delta': {
        const call = this.#begunCalls.get(part.id);
        if (call) call.raw += part.delta;
        this.#took(part.delta);
        break;
      }
      case 'tool-call':
        this.begun = true;
        this.#begunCalls.delete(part.toolCallId);
        this.#called(callOf(part));
        break;
      case 'response-metadata':
        this.#id = part.id ?? this.#id;
        break;
      case 'finish':
        this.#finish = part.finishReason.unified;
        this.#usage = usageOf(part.usage);
        break;
      case 'error':
        this.failed(part.error);
        break;
      default:
    }
  }

  /** @param waited whether it was given up while it may have been at work */
  used(waited: boolean): { used?: ModelUsage } {
    if (this.#finish !== 'interrupted') return { used: this.#usage };
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
    if (this.#finish === 'error' || this.#finish === 'interrupted') {
      return {
        ok: false,
        failure: failure('interrupted', "The model's answer ended before it was whole."),
        ...used,
      };
    }
    const wasCut = this.#finish === 'length';
    if (wasCut) for (const [id, begun] of this.#begunCalls) this.#called(notWhole(id, begun));
    if (this.#text.trim() === '' && this.#calls.length === 0) {
      const how = wasCut
        ? 'The model came to the greatest length of an answer before it said anything.'
        : 'The model gave an empty answer.';
      return { ok: false, failure: failure('unavailable', how), ...used };
    }
    const calls = wasCut ? this.#calls.map(cutShort) : this.#calls;
    const step = { id: this.#id, text: this.#text, calls, usage: this.#usage, latencyMs };
    return { ok: true, step };
  }

  /** Some servers give all calls of an answer one id, or none. */
  #called(call: ModelCall): void {
    const isTaken = call.id === '' || this.#calls.some(({ id }) => id === call.id);
    this.#calls.push(isTaken ? { ...call, id: randomUUID() } : call);
  }

  #took(piece: string): void {
    this.begun = true;
    this.#characters += piece.length;
    if (this.#characters > MOST_CHARACTERS) throw new Error(TOO_LONG);
    this.#onPiece?.(piece);
  }
}

/** What is no count of tokens is as good as none: it is reckoned with as where nothing is reported. */
function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): ModelUsage {
  const usage = {
    promptTokens: inputTokens.total ?? 0,
    completionTokens: outputTokens.total ?? 0,
    cacheReadTokens: inputTokens.cacheRead ?? 0,
    cacheWriteTokens: inputTokens.cacheWrite ?? 0,
  };
  const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= MOST_TOKENS;
  return Object.values(usage).every(isCount) ? usage : NOTHING;
}

function callOf({ toolCallId: id, toolName: name, input: raw, providerMetadata }: LanguageModelV4ToolCall) {
  const call = { id, name, ...(providerMetadata && { metadata: providerMetadata }) };
  const wrong = (problem: string): ModelCall => ({ ...call, valid: false, raw, problem });
  try {
    // A call of a tool without parameters comes without arguments from some.
    const input: unknown = raw.trim() === '' ? {} : JSON.parse(raw);
    if (isTooDeep(input)) return wrong(`The arguments are nested deeper than ${MAX_DEPTH} levels.`);
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    return isObject ? { ...call, valid: true as const, input } : wrong('The arguments are no JSON object.');
  } catch (error) {
    return wrong(`The arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Nor does it count as whole when what came of its arguments happens to be JSON. */
function notWhole(id: string, { name, raw }: { name: string; raw: string }): ModelCall {
  return { id, name, valid: false, raw, problem: 'The arguments have no end.' };
}

function cutShort(call: ModelCall): ModelCall {
  if (call.valid) return call;
  return {
    ...call,
    problem: `${call.problem} (the answer was cut at its greatest length: write less at once)`,
  };
}
