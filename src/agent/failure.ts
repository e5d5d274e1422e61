import type { ModelFailure } from '../model/failure.ts';
import type { AgentOutcome } from './context.ts';

/** Why a run cannot go on. */
export type Failure = Omit<Extract<AgentOutcome, { kind: 'failed' }>, 'kind'>;

/** What a person can do about it. */
const HINTS: Record<ModelFailure['kind'], string> = {
  authentication:
    'Store a valid llm_api_key for this model in the settings, then send a message or start again.',
  rate_limited: 'Wait until the provider allows more calls, then send a message or start again.',
  unavailable:
    'See whether the model server is up and llm_base_url is right, then send a message or start again.',
  server_error: 'Send a message or start again later, or choose another model in the settings.',
  context_length: 'Start a new conversation, or choose a model with a larger window in the settings.',
  out_of_credits: "Add credit to your account at the model's provider, then send a message or start again.",
  content_policy:
    'Say it in other words in a message, or choose another model in the settings and start again.',
  bad_request: 'See whether llm_model names a model that can call tools, then send a message or start again.',
  host_not_allowed:
    'Store an llm_base_url that this service may call (POST /api/settings), or have its operator allow the address, then send a message or start again.',
  interrupted: 'Send a message or start again to have the model try again.',
};

export function modelFailed({ kind, message, runtimeStatus }: ModelFailure): Failure {
  return {
    state: kind === 'rate_limited' ? 'rate_limited' : 'error',
    // Where V0 has no words of its own, its pages show ours.
    reason: runtimeStatus === 'STATUS$ERROR' ? `${message} ${HINTS[kind]}` : runtimeStatus,
    runtimeStatus,
    code: `model_${kind}`,
    message,
    hint: HINTS[kind],
  };
}

export function sandboxFailed(detail: string): Failure {
  return {
    state: 'error',
    reason: 'STATUS$ERROR_RUNTIME_DISCONNECTED',
    runtimeStatus: 'STATUS$ERROR_RUNTIME_DISCONNECTED',
    code: 'sandbox_unavailable',
    message: detail,
    hint: 'See /ready for what the sandbox lacks, then send a message or start again.',
  };
}

export function modelMissing(why = 'No model is configured.'): Failure {
  const hint =
    'Store llm_model and llm_api_key (POST /api/settings), then start the conversation again or send a message.';
  const runtimeStatus = 'STATUS$ERROR_LLM_AUTHENTICATION';
  const reason = `${why} ${hint}`;
  return { state: 'error', reason, runtimeStatus, code: 'model_not_configured', message: why, hint };
}

export function timedOut(): Failure {
  const message = 'The agent worked longer without its user than the operator of this service allows.';
  return {
    state: 'error',
    reason: message,
    runtimeStatus: 'STATUS$ERROR',
    code: 'run_timed_out',
    message,
    hint: 'Look at what is done so far, then send a message to go on. PARLEY_RUN_TIMEOUT_SECONDS is the limit.',
  };
}
