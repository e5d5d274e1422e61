/** Why a call of the model gave no step. `interrupted`: the answer began and did not end. */
export type ModelFailureKind =
  | 'authentication'
  | 'rate_limited'
  | 'unavailable'
  | 'server_error'
  | 'context_length'
  | 'out_of_credits'
  | 'content_policy'
  | 'bad_request'
  | 'interrupted';

export interface ModelFailure {
  kind: ModelFailureKind;
  /** One sentence for the user. Never has the key or a part of the request in it. */
  message: string;
  /** What the provider asked us to wait; null when it did not say. */
  retryAfterMs: number | null;
  /** The id V0 clients know: a `STATUS$ERROR_LLM_…`, or the one for a rate limit. */
  runtimeStatus: string;
}
