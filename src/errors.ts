/**
 * Every error a client can meet, in one table. `docs/errors.md` lists the same codes with what to do, and a test
 * holds the two together. A code is stable: clients may branch on it.
 */
export const ERRORS = {
  unauthorized: { status: 401, title: 'No valid key', retryable: false },
  provider_token_refused: { status: 401, title: 'The git provider refused the token', retryable: false },
  git_token_required: { status: 401, title: 'No token of a git provider', retryable: false },
  origin_refused: { status: 403, title: 'Request from another origin', retryable: false },
  provider_forbidden: { status: 403, title: 'The git provider does not allow it', retryable: false },
  host_refused: { status: 421, title: 'Not a name of this service', retryable: false },
  malformed_http: { status: 400, title: 'Not a valid HTTP request', retryable: false },
  not_found: { status: 404, title: 'No such route', retryable: false },
  settings_not_found: { status: 404, title: 'Settings not found', retryable: false },
  conversation_not_found: { status: 404, title: 'Conversation not found', retryable: false },
  event_not_found: { status: 404, title: 'No such event', retryable: false },
  file_not_found: { status: 404, title: 'No such file', retryable: false },
  not_a_repository: { status: 404, title: 'Not a git repository', retryable: false },
  repository_not_found: { status: 404, title: 'No such repository', retryable: false },
  secret_not_found: { status: 404, title: 'Secret not found', retryable: false },
  method_not_allowed: { status: 405, title: 'Method not allowed', retryable: false },
  request_timeout: { status: 408, title: 'The request took too long to arrive', retryable: true },
  conflict: { status: 409, title: 'The request meets a state that does not allow it', retryable: false },
  gone: { status: 410, title: 'No longer offered', retryable: false },
  body_too_large: { status: 413, title: 'Body too large', retryable: false },
  file_too_large: { status: 413, title: 'The file is too large to be shown', retryable: false },
  unsupported_media_type: { status: 415, title: 'Body of another type', retryable: false },
  file_is_binary: { status: 415, title: 'The file is no text', retryable: false },
  invalid_request: { status: 422, title: 'The request is not valid', retryable: false },
  secret_destination_changed: {
    status: 422,
    title: 'A stored secret would go to another destination',
    retryable: false,
  },
  secret_exists: { status: 400, title: 'Secret already exists', retryable: false },
  invalid_limit: { status: 400, title: 'Limit out of range', retryable: false },
  provider_unavailable: { status: 424, title: 'The git provider gave no answer', retryable: true },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true },
  provider_rate_limited: { status: 429, title: 'The git provider takes no more requests', retryable: true },
  queue_full: { status: 429, title: 'Too much waits for its turn', retryable: true },
  internal: { status: 500, title: 'Something broke on our side', retryable: true },
  sandbox_unavailable: { status: 503, title: 'No sandbox', retryable: true },
  disk_almost_full: { status: 503, title: 'The disk is almost full', retryable: true },
  storage_unavailable: { status: 503, title: 'The data could not be stored', retryable: true },
  shutting_down: { status: 503, title: 'The service is stopping', retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

/** One offending member of a rejected body: where it stands, what is wrong with it, the kind of fault. */
export interface MemberError {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** The only exception that crosses folders on purpose. `detail` is one sentence a person can act on, without secrets. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly errors: readonly MemberError[] | undefined;
  /** Seconds until trying again makes sense. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    more: { errors?: readonly MemberError[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(detail, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.errors = more.errors;
    this.retryAfter = more.retryAfter;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
