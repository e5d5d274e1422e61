import { ERRORS, type ErrorCode, type MemberError, ServiceError } from '../errors.ts';
import { ConversationGone } from '../events/log.ts';

/** The body of every error: RFC 9457, with `code` to branch on and `message` for clients written for V0. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  message: string;
  request_id: string;
  errors?: readonly MemberError[];
}

export const PROBLEM_TYPE = 'application/problem+json';

/** Relative on purpose (RFC 9457, 3.1.1 allows it): the service does not know the name it is reached by. */
const DOCUMENTATION = '/docs/errors';

export function problemOf(error: ServiceError, requestId: string): Problem {
  const { status, title } = ERRORS[error.code];
  return {
    type: `${DOCUMENTATION}#${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    message: error.message,
    request_id: requestId,
    ...(error.errors && { errors: error.errors }),
  };
}

/** The headers an error brings along. */
export function headersOf(error: ServiceError): Record<string, string> {
  if (error.code === 'unauthorized') return { 'www-authenticate': 'Bearer realm="parley"' };
  if (error.retryAfter !== undefined) return { 'retry-after': String(Math.ceil(error.retryAfter)) };
  return {};
}

/** What fastify and Node throw before a route is reached, by their codes. */
const FRAMEWORK: Readonly<Record<string, [code: ErrorCode, detail: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'The body is larger than this route takes.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'The body has another length than its Content-Length says.',
  ],
  FST_ERR_BAD_URL: ['not_found', 'The path is not a valid URL path.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  ECONNRESET: ['request_timeout', 'The connection ended before the request had arrived.'],
};

/** Any thrown value as an error of the table. What nobody expected says nothing of its inside. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // Between finding it and writing to it another request removed it.
  if (error instanceof ConversationGone) {
    return new ServiceError('conversation_not_found', 'The conversation has been removed.', { cause: error });
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = Object.hasOwn(FRAMEWORK, code) ? FRAMEWORK[code] : undefined;
  if (known) return new ServiceError(known[0], known[1], { cause: error });
  return new ServiceError(
    'internal',
    'Something broke on our side; the log has the cause under this request id.',
    {
      cause: error,
    },
  );
}
