import { deadlinesOf } from './deadline.ts';
import type { ModelFailureKind } from './failure.ts';
import { userText } from './message.ts';
import { type ModelSettings, resolveModel } from './resolve.ts';
import { modelStep } from './step.ts';

/** Whether a model answers, how long that took, and else why not and what to do. */
export type ModelCheck = { latencyMs: number } & (
  | { ok: true }
  | { ok: false; error: { code: string; message: string; hint: string } }
);

/** Milliseconds the model has to answer. */
const CHECK_MS = 20_000;

const HINTS: Record<ModelFailureKind, string> = {
  authentication: 'Send a valid llm_api_key for this model.',
  rate_limited: 'Key and address are right; wait until the provider allows more calls.',
  unavailable: 'See whether the model server is up, and llm_base_url and llm_model are right.',
  server_error: 'Try again later, or choose another model.',
  context_length: 'Choose a model with a larger window.',
  out_of_credits: "Add credit to your account at the model's provider.",
  content_policy: 'Choose another model: this one refuses a plain greeting.',
  bad_request: 'See whether llm_model names a model that is there, and llm_base_url is its address.',
  host_not_allowed:
    'Send an llm_base_url that this service may call, or have its operator allow the address.',
  interrupted: 'Try again; if it stays, look at what stands between here and the model server.',
};

/**
 * Makes one small call.
 * @throws ServiceError invalid_request, when the settings do not say where the model is; the signal's reason
 */
export async function checkModel(
  settings: ModelSettings,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
  totalMs = CHECK_MS,
): Promise<ModelCheck> {
  const began = performance.now();
  const outcome = await modelStep({
    model: resolveModel(settings, fetch),
    system: 'Answer with one word.',
    messages: [userText('Hello')],
    tools: [],
    signal,
    deadlines: deadlinesOf(totalMs),
  });
  const latencyMs = Math.round(performance.now() - began);
  if (outcome.ok) return { ok: true, latencyMs };
  const { kind, message } = outcome.failure;
  return { ok: false, latencyMs, error: { code: `model_${kind}`, message, hint: HINTS[kind] } };
}
