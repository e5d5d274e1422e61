import { EgressRefused } from '../egress/policy.ts';
import { ServiceError } from '../errors.ts';

/** Why a server cannot be used. */
export interface Failure {
  /** A sentence of ours: it may stand in events. */
  reason: string;
  /** What the server itself said, if it did: for its user alone. */
  detail: string;
  /** It was no fault of the server: its sandbox is gone, and it runs again in the next one. */
  withSandbox?: boolean;
}

/** The connection ended by itself. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/** An answer of the server that says no to a request. */
export interface Refusal {
  code: number;
  message: string;
}

const MAX_DETAIL = 2_000;

/** The error that a server answered with; null when it was not the server that failed. */
export async function refusalOf(error: unknown): Promise<Refusal | null> {
  const { ProtocolError } = await import('@modelcontextprotocol/client');
  return error instanceof ProtocolError
    ? { code: error.code, message: error.message.slice(0, MAX_DETAIL) }
    : null;
}

/** HTTP's status of an answer that was no success; null when there is none. */
export async function statusOf(error: unknown): Promise<number | null> {
  const { SdkHttpError, SseError, UnauthorizedError } = await import('@modelcontextprotocol/client');
  if (error instanceof SdkHttpError) return error.status;
  if (error instanceof UnauthorizedError) return 401;
  return error instanceof SseError ? (error.code ?? null) : null;
}

/** Why a server could not be connected, or a call did not reach it. */
export async function failureOf(error: unknown): Promise<Failure> {
  if (error instanceof Broken) return error.failure;
  const all = causes(error);
  const own = all.find((cause) => cause instanceof EgressRefused || cause instanceof ServiceError);
  if (own) return { reason: own.message, detail: '' };
  const status = await statusOf(error);
  if (status === 401 || status === 403) {
    return { reason: `It answered ${status}: it does not take the api_key, or wants one.`, detail: '' };
  }
  if (status !== null) return { reason: `It answered ${status}.`, detail: saidBy(error) };
  const refusal = await refusalOf(error);
  if (refusal) return { reason: `It answered with an error (${refusal.code}).`, detail: refusal.message };
  const code = all.map((cause) => ('code' in cause ? cause.code : null)).find(isNetworkCode);
  if (code !== undefined) return { reason: `The connection to it failed (${code}).`, detail: '' };
  return { reason: 'It did not answer as the protocol wants it.', detail: saidBy(error) };
}

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let one = error; one instanceof Error && found.length < 10; one = one.cause) {
    found.push(one);
    // Several addresses of one name were tried.
    if (one instanceof AggregateError) found.push(...one.errors.filter((inner) => inner instanceof Error));
  }
  return found;
}

function isNetworkCode(code: unknown): code is string {
  return typeof code === 'string' && /^(E[A-Z]+|UND_ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/.test(code);
}

function saidBy(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, MAX_DETAIL) : '';
}
