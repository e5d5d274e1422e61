import type { Kysely } from 'kysely';
import type { ProviderName } from '../../contract/providers.ts';
import type { Sealed } from '../../secrets/vault.ts';
import type { SettingsStore, StoredCustomSecret, StoredSettings, StoredToken } from '../../settings/store.ts';
import type { Schema } from '../schema.ts';

export class SqlSettingsStore implements SettingsStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  async load(userId: string): Promise<StoredSettings | undefined> {
    const row = await this.#db
      .selectFrom('settings')
      .select(['document', 'secrets'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
    // Both were written by save() below.
    return row && { document: JSON.parse(row.document), secrets: JSON.parse(row.secrets) };
  }

  async save(userId: string, settings: StoredSettings): Promise<void> {
    const document = JSON.stringify(settings.document);
    const secrets = JSON.stringify(settings.secrets);
    await this.#db
      .insertInto('settings')
      .values({ user_id: userId, document, secrets })
      .onConflict((c) => c.column('user_id').doUpdateSet({ document, secrets }))
      .execute();
  }

  async tokens(userId: string): Promise<StoredToken[]> {
    const rows = await this.#db
      .selectFrom('provider_tokens')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('provider')
      .execute();
    return rows.map((row) => ({
      provider: row.provider as ProviderName,
      host: row.host,
      accountId: row.account_id,
      status: row.status as StoredToken['status'],
      login: row.login,
      secret: { sealed: row.sealed as Sealed, destination: row.destination },
    }));
  }

  async saveToken(userId: string, token: StoredToken): Promise<void> {
    const row = {
      host: token.host,
      account_id: token.accountId,
      status: token.status,
      login: token.login,
      sealed: token.secret.sealed,
      destination: token.secret.destination,
    };
    await this.#db
      .insertInto('provider_tokens')
      .values({ user_id: userId, provider: token.provider, ...row })
      .onConflict((c) => c.columns(['user_id', 'provider']).doUpdateSet(row))
      .execute();
  }

  async removeTokens(userId: string): Promise<void> {
    await this.#db.deleteFrom('provider_tokens').where('user_id', '=', userId).execute();
  }

  async removeToken(userId: string, provider: ProviderName): Promise<void> {
    await this.#db
      .deleteFrom('provider_tokens')
      .where('user_id', '=', userId)
      .where('provider', '=', provider)
      .execute();
  }

  async customSecrets(userId: string): Promise<StoredCustomSecret[]> {
    const rows = await this.#db
      .selectFrom('custom_secrets')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('name')
      .execute();
    return rows.map((row) => ({
      name: row.name,
      description: row.description,
      secret: { sealed: row.sealed as Sealed, destination: row.destination },
    }));
  }

  async saveCustomSecret(userId: string, custom: StoredCustomSecret): Promise<void> {
    const row = {
      description: custom.description,
      sealed: custom.secret.sealed,
      destination: custom.secret.destination,
    };
    await this.#db
      .insertInto('custom_secrets')
      .values({ user_id: userId, name: custom.name, ...row })
      .onConflict((c) => c.columns(['user_id', 'name']).doUpdateSet(row))
      .execute();
  }

  async removeCustomSecret(userId: string, name: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom('custom_secrets')
      .where('user_id', '=', userId)
      .where('name', '=', name)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }
}
