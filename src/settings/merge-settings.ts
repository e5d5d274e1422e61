import { SETTINGS_DEFAULTS, type SettingsPatch, settingsMembers } from '../contract/settings.ts';
import { modelKeyDestination, SANDBOX_DESTINATION, SEARCH_DESTINATION } from './destinations.ts';
import type { PlainMember, PlainMembers, SettingsDocument } from './document.ts';
import { clearMcp, mergeMcp } from './merge-mcp.ts';
import { mergeCustomSecrets, mergeTokens } from './merge-secrets-store.ts';
import type { SecretDraft } from './secret-draft.ts';

const WITH_RULES_OF_THEIR_OWN: ReadonlySet<string> = new Set([
  'llm_api_key',
  'search_api_key',
  'sandbox_api_key',
  'mcp_config',
  'secrets_store',
]);
// What is left of the members after those that PlainMember leaves out.
const PLAIN_MEMBERS = Object.keys(settingsMembers).filter(
  (name) => !WITH_RULES_OF_THEIR_OWN.has(name),
) as PlainMember[];

/** The settings after a POST: what is omitted stays, but for the members with a default, which take it. */
export function replaceSettings(
  stored: SettingsDocument,
  body: SettingsPatch,
  draft: SecretDraft,
): SettingsDocument {
  return mergeSettings({ ...stored, members: { ...stored.members, ...SETTINGS_DEFAULTS } }, body, draft);
}

/** The settings after a PATCH: what is omitted stays. */
export function mergeSettings(
  stored: SettingsDocument,
  body: SettingsPatch,
  draft: SecretDraft,
): SettingsDocument {
  const members = mergePlain(stored.members ?? SETTINGS_DEFAULTS, body);
  draft.merge('llm_api_key', body.llm_api_key, modelKeyDestination(members), ['body', 'llm_api_key']);
  draft.merge('search_api_key', body.search_api_key, SEARCH_DESTINATION, ['body', 'search_api_key']);
  draft.merge('sandbox_api_key', body.sandbox_api_key, SANDBOX_DESTINATION, ['body', 'sandbox_api_key']);
  return { members, mcp: mcpOf(stored, body, draft), ...secretsStoreOf(stored, body, draft) };
}

/** Omitted keeps, null and "" clear, a value sets. For a member with a default, null is as good as omitted. */
function mergePlain(stored: PlainMembers, body: SettingsPatch): PlainMembers {
  const next: Record<string, unknown> = {};
  for (const name of PLAIN_MEMBERS) {
    const given = body[name];
    const keeps = given === undefined || (given === null && Object.hasOwn(SETTINGS_DEFAULTS, name));
    const value = keeps ? stored[name] : given;
    if (value !== undefined && value !== null && value !== '') next[name] = value;
  }
  return next;
}

function mcpOf(stored: SettingsDocument, { mcp_config }: SettingsPatch, draft: SecretDraft) {
  if (mcp_config === undefined) return stored.mcp;
  return mcp_config === null ? clearMcp(draft) : mergeMcp(stored.mcp, mcp_config, draft);
}

function secretsStoreOf(stored: SettingsDocument, { secrets_store }: SettingsPatch, draft: SecretDraft) {
  const { provider_tokens, custom_secrets } = secrets_store ?? {};
  return {
    tokens: provider_tokens
      ? mergeTokens(stored.tokens, provider_tokens, draft, {
          loc: ['body', 'secrets_store', 'provider_tokens'],
        })
      : stored.tokens,
    customSecrets: custom_secrets
      ? mergeCustomSecrets(stored.customSecrets, custom_secrets, draft)
      : stored.customSecrets,
  };
}
