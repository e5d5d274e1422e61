import type { SettingsCheckBody } from '../contract/settings-check.ts';
import { ServiceError } from '../errors.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { Secret } from '../secrets/secret.ts';
import { modelKeyDestination } from './destinations.ts';
import type { PlainMembers } from './document.ts';

/**
 * The model that a check asks about: each member from the request, else from what is stored; `""` is none.
 * @param stored the key, opened only when it may go where the request wants it
 * @throws ServiceError invalid_request without a model, secret_destination_changed for a stored key of another place
 */
export function modelToCheck(
  body: SettingsCheckBody,
  members: PlainMembers,
  stored: { destination: string; open: () => Secret } | null,
): ModelSettings {
  const name = body.llm_model ?? members.llm_model ?? '';
  const baseUrl = body.llm_base_url ?? members.llm_base_url ?? '';
  if (name === '') {
    throw new ServiceError('invalid_request', 'No model is stored: send llm_model.', {
      errors: [{ loc: ['body', 'llm_model'], msg: 'is required: none is stored', type: 'missing' }],
    });
  }
  const given = body.llm_api_key;
  if (given) return { name, baseUrl: baseUrl || null, apiKey: given.unwrap() === '' ? null : given };
  if (stored && stored.destination !== modelKeyDestination({ llm_model: name, llm_base_url: baseUrl })) {
    throw new ServiceError(
      'secret_destination_changed',
      'The stored llm_api_key belongs to another destination: send the key of this one, or "" to ask without.',
      {
        errors: [
          {
            loc: ['body', 'llm_api_key'],
            msg: 'is stored for another destination: send it again, or "" for none',
            type: 'secret_destination_changed',
          },
        ],
      },
    );
  }
  return { name, baseUrl: baseUrl || null, apiKey: stored?.open() ?? null };
}
