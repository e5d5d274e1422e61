import { Redactor, type TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { RunSettings } from './run-settings.ts';

/**
 * Hides a user's secrets in texts.
 * @param own secrets that one conversation brought along
 */
export function redactorOf(settings: RunSettings, own: readonly Secret[] = []): TextRedactor {
  const tokens = settings.tokens.map(({ token }) => token);
  return new Redactor([...settings.liveSecrets, ...own], tokens);
}
