import type { NewSecret, SecretChange } from '../contract/secrets.ts';
import { ServiceError } from '../errors.ts';
import { SHELL_DESTINATION } from './destinations.ts';
import { SECRET_PATHS, type SettingsDocument } from './document.ts';
import type { SecretDraft } from './secret-draft.ts';

type Described = SettingsDocument['customSecrets'][number];

export function addSecret(
  document: SettingsDocument,
  { name, value, description }: NewSecret,
  draft: SecretDraft,
): SettingsDocument {
  refuseTaken(document, name);
  draft.merge(SECRET_PATHS.custom(name), value, SHELL_DESTINATION, ['body', 'value']);
  return withSecrets(document, [...document.customSecrets, { name, description: description ?? '' }]);
}

/** The value is kept unless another is given; so is the description. */
export function changeSecret(
  document: SettingsDocument,
  name: string,
  change: SecretChange,
  draft: SecretDraft,
): SettingsDocument {
  const former = find(document, name);
  if (change.name !== name) {
    refuseTaken(document, change.name);
    draft.rename(SECRET_PATHS.custom(name), SECRET_PATHS.custom(change.name));
  }
  if (change.value) {
    draft.merge(SECRET_PATHS.custom(change.name), change.value, SHELL_DESTINATION, ['body', 'value']);
  }
  const others = document.customSecrets.filter((secret) => secret !== former);
  const description = change.description ?? former.description;
  return withSecrets(document, [...others, { name: change.name, description }]);
}

export function removeSecret(document: SettingsDocument, name: string, draft: SecretDraft): SettingsDocument {
  const former = find(document, name);
  draft.remove(SECRET_PATHS.custom(name));
  return withSecrets(
    document,
    document.customSecrets.filter((secret) => secret !== former),
  );
}

function withSecrets(document: SettingsDocument, secrets: readonly Described[]): SettingsDocument {
  return { ...document, customSecrets: secrets.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function find({ customSecrets }: SettingsDocument, name: string): Described {
  const found = customSecrets.find((secret) => secret.name === name);
  if (found) return found;
  throw new ServiceError('secret_not_found', `There is no secret ${name}.`);
}

function refuseTaken({ customSecrets }: SettingsDocument, name: string): void {
  if (!customSecrets.some((secret) => secret.name === name)) return;
  throw new ServiceError('secret_exists', `Secret ${name} already exists`, {
    errors: [{ loc: ['body', 'name'], msg: 'already exists', type: 'duplicate' }],
  });
}
