import { Redactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { RunSettings } from './run-settings.ts';

/**
 * Hides a user's secrets in texts.
 * @param own secrets that one conversation brought along
 */
export function redactorOf(settings: RunSettings, own: readonly Secret[] = []): (text: string) => string {
  const tokens = settings.tokens.map(({ token }) => token);
  const redactor = new Redactor([...settings.liveSecrets, ...own], tokens);
  return (text) => redactor.redact(text);
}
