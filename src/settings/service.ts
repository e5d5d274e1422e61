import type { AuditStore } from '../audit/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { SecretChange, SecretList, NewSecret } from '../contract/secrets.ts';
import type { ProviderTokensBody, TokenStatus } from '../contract/providers.ts';
import type { SettingsBody, SettingsPatch, SettingsView } from '../contract/settings.ts';
import type { SettingsCheckBody } from '../contract/settings-check.ts';
import type { PlainFetch } from '../egress/plain-fetch.ts';
import { ServiceError } from '../errors.ts';
import type { ModelSettings } from '../model/resolve.ts';
import type { TextRedactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Transact } from '../transact.ts';
import { refusalFact, secretFacts } from './audited.ts';
import { addSecret, changeSecret, removeSecret } from './custom-secrets.ts';
import { EMPTY_DOCUMENT, type SettingsDocument } from './document.ts';
import { mergeSettings, replaceSettings } from './merge-settings.ts';
import { modelToCheck } from './model-to-check.ts';
import { askProviders, mergeProviderTokens, refusedProviders, statusesOf } from './provider-tokens.ts';
import { type GitAccess, gitAccessOf, type RunSettings, runSettingsOf } from './run-settings.ts';
import { redactorOf } from './redactor-of.ts';
import { SecretDraft } from './secret-draft.ts';
import { Seals } from './seals.ts';
import type { BoundSecret, SettingsStore } from './store.ts';
import { viewOf } from './view.ts';

interface AuditedStores {
  settings: SettingsStore;
  audit: AuditStore;
}

export interface SettingsServiceOptions {
  read: SettingsStore;
  transact: Transact<AuditedStores>;
  vault: Vault;
  /** For asking git providers about tokens, at hosts that users name. */
  fetch: PlainFetch;
}

/** What one user has stored, with the secrets beside it. */
interface Loaded {
  document: SettingsDocument;
  secrets: Record<string, BoundSecret>;
}

/** For who brings no secrets along: one, so that what was made for it is found again. */
const NO_SECRETS: readonly Secret[] = [];

/** A change of what is stored; the secrets go through the draft. */
type Change = (document: SettingsDocument, draft: SecretDraft) => SettingsDocument;

/**
 * The settings, provider tokens and custom secrets of each user: one row, written in one transaction. Every method
 * that changes something resolves when it is on disk, and throws `secret_destination_changed` rather than let a
 * stored secret go elsewhere.
 */
export class SettingsService {
  readonly #read: SettingsStore;
  readonly #transact: Transact<AuditedStores>;
  readonly #seals: Seals;
  readonly #fetch: PlainFetch;
  /** What was made for the settings as they are stored, and the secrets that were brought along. */
  readonly #redactors = new WeakMap<SettingsDocument, WeakMap<readonly Secret[], TextRedactor>>();

  constructor({ read, transact, vault, fetch }: SettingsServiceOptions) {
    this.#read = read;
    this.#transact = transact;
    this.#seals = new Seals(vault);
    this.#fetch = fetch;
  }

  /** POST: what is omitted stays, but for the four members that then take their default. */
  async store(by: Principal, body: SettingsBody): Promise<void> {
    await this.#change(by, (document, draft) => replaceSettings(document, body, draft));
  }

  /** PATCH: what is omitted stays. */
  async patch(by: Principal, body: SettingsPatch): Promise<void> {
    await this.#change(by, (document, draft) => mergeSettings(document, body, draft));
  }

  /** @throws ServiceError settings_not_found before the first POST or PATCH */
  async read(userId: string): Promise<SettingsView> {
    const { document, secrets } = await load(this.#read, userId);
    if (document.members) return viewOf(document, document.members, secrets);
    throw new ServiceError('settings_not_found', 'No settings are stored yet: POST /api/settings first.');
  }

  /** What a run needs, secrets open. Defaults alone when nothing is stored. */
  async snapshot(userId: string): Promise<RunSettings> {
    const { document, secrets } = await load(this.#read, userId);
    return runSettingsOf(document, secrets, this.#seals.of(userId));
  }

  /**
   * Hides the user's secrets in texts.
   * @param own secrets that one conversation brought along
   */
  async redactor(userId: string, own: readonly Secret[] = NO_SECRETS): Promise<TextRedactor> {
    const { document, secrets } = await load(this.#read, userId);
    const beside = own.length === 0 ? NO_SECRETS : own;
    const made = this.#redactors.get(document) ?? new WeakMap<readonly Secret[], TextRedactor>();
    this.#redactors.set(document, made);
    const redactor =
      made.get(beside) ?? redactorOf(runSettingsOf(document, secrets, this.#seals.of(userId)), beside);
    made.set(beside, redactor);
    return redactor;
  }

  /** With what git providers are asked for the user: the tokens alone are opened. */
  async gitAccess(userId: string): Promise<GitAccess> {
    const { document, secrets } = await load(this.#read, userId);
    return gitAccessOf(document, secrets, this.#seals.of(userId));
  }

  /** The model a check asks about; see {@link modelToCheck}. Nothing is stored. */
  async modelToCheck(userId: string, body: SettingsCheckBody): Promise<ModelSettings> {
    const { document, secrets } = await load(this.#read, userId);
    const key = secrets['llm_api_key'];
    const seals = this.#seals.of(userId);
    return modelToCheck(
      body,
      document.members ?? {},
      key ? { destination: key.destination, open: () => seals.open('llm_api_key', key) } : null,
    );
  }

  /**
   * Stores tokens after asking the provider of each new one whose it is.
   * @returns how each provider that was named stands now
   * @throws ServiceError provider_token_refused: then nothing of the request is stored
   */
  async storeProviderTokens(
    by: Principal,
    body: ProviderTokensBody,
    signal: AbortSignal,
  ): Promise<Record<string, TokenStatus>> {
    const before = await load(this.#read, by.userId);
    const answers = await askProviders(
      before.document.tokens,
      body.provider_tokens ?? {},
      this.#fetch,
      signal,
    ).catch(async (error: unknown) => {
      const facts = refusedProviders(error).map((provider) => refusalFact(by, provider));
      if (facts.length > 0) await this.#transact(({ audit }) => audit.add(facts));
      throw error;
    });
    const { tokens } = await this.#change(by, (document, draft) =>
      mergeProviderTokens(document, body, answers, draft),
    );
    return statusesOf(tokens, body.provider_tokens ?? {}, answers);
  }

  async unsetProviderTokens(by: Principal): Promise<void> {
    await this.#change(by, (document, draft) => {
      draft.removeAll('secrets_store.provider_tokens.');
      return { ...document, tokens: {} };
    });
  }

  async customSecrets(userId: string): Promise<SecretList> {
    const { document } = await load(this.#read, userId);
    return { custom_secrets: [...document.customSecrets] };
  }

  /** @throws ServiceError secret_exists */
  async addSecret(by: Principal, secret: NewSecret): Promise<void> {
    await this.#change(by, (document, draft) => addSecret(document, secret, draft));
  }

  /** @throws ServiceError secret_not_found, secret_exists when the new name is taken */
  async changeSecret(by: Principal, name: string, change: SecretChange): Promise<void> {
    await this.#change(by, (document, draft) => changeSecret(document, name, change, draft));
  }

  /** @throws ServiceError secret_not_found */
  async removeSecret(by: Principal, name: string): Promise<void> {
    await this.#change(by, (document, draft) => removeSecret(document, name, draft));
  }

  async #change(by: Principal, change: Change): Promise<SettingsDocument> {
    const { userId } = by;
    const seals = this.#seals.of(userId);
    return await this.#transact(async ({ settings, audit }) => {
      const stored = await load(settings, userId);
      const draft = new SecretDraft(stored.secrets, seals);
      const document = change(stored.document, draft);
      const secrets = draft.finish();
      await settings.save(userId, { document, secrets });
      const facts = secrets === stored.secrets ? [] : secretFacts(by, stored.secrets, secrets);
      if (facts.length > 0) await audit.add(facts);
      return document;
    });
  }
}

async function load(store: SettingsStore, userId: string): Promise<Loaded> {
  const stored = await store.load(userId);
  if (!stored) return { document: EMPTY_DOCUMENT, secrets: {} };
  // Only #change writes documents, and only this form.
  return { document: stored.document as SettingsDocument, secrets: stored.secrets };
}
