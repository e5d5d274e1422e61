import { EgressRefused } from '../egress/policy.ts';
import { HIDDEN, type Secret } from '../secrets/secret.ts';
import { ImageError } from './images.ts';
import type { UnseenImages } from './sight.ts';

/** The id V0 clients know for each reason why a call of the model gave no step. */
const RUNTIME_STATUS = {
  authentication: 'STATUS$ERROR_LLM_AUTHENTICATION',
  rate_limited: 'CHAT_INTERFACE$AGENT_RATE_LIMITED_STOPPED_MESSAGE',
  unavailable: 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
  server_error: 'STATUS$ERROR_LLM_INTERNAL_SERVER_ERROR',
  context_length: 'STATUS$ERROR',
  out_of_credits: 'STATUS$ERROR_LLM_OUT_OF_CREDITS',
  content_policy: 'STATUS$ERROR_LLM_CONTENT_POLICY_VIOLATION',
  bad_request: 'STATUS$ERROR',
  /** Nobody was asked: this service may not call the address. */
  host_not_allowed: 'STATUS$ERROR',
  /** The answer began and did not end. */
  interrupted: 'STATUS$ERROR_LLM_SERVICE_UNAVAILABLE',
} as const;

export type ModelFailureKind = keyof typeof RUNTIME_STATUS;

export interface ModelFailure {
  kind: ModelFailureKind;
  /** For the user. Never has the key in it, and of what the provider said only the beginning. */
  message: string;
  /** What the provider asked us to wait; null when it did not say. */
  retryAfterMs: number | null;
  runtimeStatus: string;
  /** Given when it was for images that the model was not given. */
  unseen?: UnseenImages;
}

export function failure(
  kind: ModelFailureKind,
  message: string,
  retryAfterMs: number | null = null,
): ModelFailure {
  return { kind, message, retryAfterMs, runtimeStatus: RUNTIME_STATUS[kind] };
}

const SENTENCES: Record<ModelFailureKind, string> = {
  authentication: 'The provider of the model refused the API key. Store a valid one in the settings.',
  rate_limited: 'The provider of the model allows no more calls for now.',
  unavailable: 'The model is not available.',
  server_error: 'The provider of the model has an error of its own.',
  context_length: 'The conversation is longer than the model can read.',
  out_of_credits: 'The account at the provider of the model has no credit left.',
  content_policy: 'The provider of the model refused the content.',
  bad_request: 'The provider of the model refused the request.',
  host_not_allowed: 'The model was not called at llm_base_url:',
  interrupted: "The model's answer broke off.",
};

/** What an error of a provider's client, of the connection, or within a stream means. */
export function failureOf(
  error: unknown,
  { begun, key, images }: { begun: boolean; key: Secret | null; images: boolean },
): ModelFailure {
  const broken = causes(error).find((cause) => cause instanceof ImageError);
  if (broken) {
    const unseen = { url: broken.url.href, reason: `${broken.message} The model goes on without it.` };
    return { ...failure('bad_request', broken.message), unseen };
  }
  const own = causes(error).find((cause) => cause instanceof EgressRefused);
  if (own) return failure('host_not_allowed', `${SENTENCES.host_not_allowed} ${own.message}.`);
  const facts = factsOf(error);
  const kind = kindOf(facts) ?? (begun ? 'interrupted' : 'unavailable');
  // Providers quote the key that they refuse, masked or not.
  const said = kind === 'authentication' ? '' : quote(facts.message, key);
  const failed = failure(kind, [SENTENCES[kind], said].filter(Boolean).join(' '), retryAfter(facts.headers));
  if (!images || !refusesImages(facts, kind)) return failed;
  const quoted = said === '' ? '' : ` Its provider said: ${said}`;
  const reason = `The model takes no images, or not these; it goes on without them.${quoted}`;
  return { ...failed, unseen: { url: null, reason } };
}

interface Facts {
  status: number | null;
  message: string;
  /** Everything by which providers tell their errors apart, in lower case. */
  marks: string;
  headers: Record<string, unknown>;
}

/** Read by shape: loading the library to compare with its classes would cost a tenth of a second at start. */
function factsOf(error: unknown): Facts {
  const shape = record(error);
  const data = record(shape['data']);
  const inner = { ...record(data['error']), ...record(record(data['response'])['error']) };
  const message = saidBy(error);
  const named = [shape['type'], shape['code'], inner['type'], inner['code'], inner['status'], message];
  // Within a stream the status of HTTP was sent already: there some have it as the error's code.
  const status = [shape['statusCode'], shape['status'], shape['code']].map(Number).find(isFailed) ?? null;
  const marks = [...named, shape['responseBody']].filter((mark) => typeof mark === 'string');
  return {
    status,
    message,
    marks: marks.join('\n').slice(0, 20_000).toLowerCase(),
    headers: record(shape['responseHeaders']),
  };
}

function isFailed(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

const OUT_OF_CREDITS =
  /insufficient_quota|insufficient[ _]credit|insufficient balance|credit balance is too low|exceeded your current quota, please check your plan|budget has been exceeded|exceededbudget|billing_hard_limit/;
const CONTEXT_LENGTH =
  /context_length_exceeded|context[ _](length|window|size|limit|overflow)|maximum prompt length|exceed(ed|s)? (the )?model token limit|prompt is too long|input is too long|too many (input )?tokens|maximum number of (input )?tokens|exceed_context/;
const CONTENT_POLICY =
  /content_filter|content_policy|contentpolicy|content management policy|usage polic(y|ies)|prohibited_content/;
const BAD_KEY =
  /api_key_invalid|api key not valid|invalid_api_key|incorrect api key|authentication_error|invalid x-api-key/;

function kindOf({ status, marks }: Facts): ModelFailureKind | null {
  if (status === 402 || OUT_OF_CREDITS.test(marks)) return 'out_of_credits';
  if (status === 401 || BAD_KEY.test(marks)) return 'authentication';
  if (status === 429 || /rate_limit|resource_exhausted|too many requests/.test(marks)) return 'rate_limited';
  if (status === 403) return CONTENT_POLICY.test(marks) ? 'content_policy' : 'authentication';
  if (status === 408 || status === 409 || status === 425) return 'unavailable';
  if (status === 413) return 'context_length';
  if (status === null || status < 500) {
    if (CONTEXT_LENGTH.test(marks)) return 'context_length';
    if (CONTENT_POLICY.test(marks)) return 'content_policy';
  }
  if (status !== null && status >= 400 && status < 500) return 'bad_request';
  if (/overloaded|unavailable|capacity/.test(marks)) return 'unavailable';
  if (status === 500 || /server_error|api_error|internal (server )?error/.test(marks)) return 'server_error';
  if (status !== null && status >= 500) return 'unavailable';
  return /invalid_request|invalid prompt|ai_invalidprompt|unsupportedfunctionality/.test(marks)
    ? 'bad_request'
    : null;
}

/** How servers say that their model sees nothing, or that it cannot read an image. */
const IMAGES =
  /image|vision|multi-?modal|mmproj|unable to download|content must be a string|content should be a string|expected a string|valid string/;

function refusesImages({ status, marks }: Facts, kind: ModelFailureKind): boolean {
  const couldBe = kind === 'bad_request' || kind === 'server_error' || (status !== null && status === 404);
  return couldBe && IMAGES.test(marks);
}

const MAX_QUOTE = 300;

/** The beginning of what the provider said; some go on with the whole request. */
function quote(message: string, key: Secret | null): string {
  const line = message.split('\n', 1)[0]?.trim() ?? '';
  const value = key?.unwrap() ?? '';
  const clean = (value === '' ? line : line.replaceAll(value, HIDDEN)).replaceAll(/\S*\*{3,}\S*/g, HIDDEN);
  return clean.length > MAX_QUOTE ? `${clean.slice(0, MAX_QUOTE)}…` : clean;
}

/** Milliseconds, from `retry-after-ms` (OpenAI) or `Retry-After` (RFC 9110: seconds or a date). */
function retryAfter(headers: Record<string, unknown>): number | null {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const text = headers['retry-after'];
  if (typeof text !== 'string' || text.trim() === '') return null;
  if (Number(text) >= 0) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

/** What happened to a connection stands in the innermost cause; what stands around it says only that something did. */
function saidBy(error: unknown): string {
  const message = record(error)['message'];
  const said = typeof message === 'string' ? message : String(error);
  const innermost = causes(error).at(-1)?.message ?? said;
  return innermost === '' || said.includes(innermost) ? said : `${said}: ${innermost}`;
}

function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 10; cause = cause.cause) chain.push(cause);
  return chain;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
