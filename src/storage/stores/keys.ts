import type { CompiledQuery, Kysely, Selectable } from 'kysely';
import type { ApiKey, Credential, CredentialHash, KeyStore, User } from '../../auth/store.ts';
import type { Remembered } from '../remembered.ts';
import type { Schema } from '../schema.ts';

export class SqlKeyStore implements KeyStore {
  readonly #db: Kysely<Schema>;
  readonly #known: Remembered<Credential> | null;
  readonly #changed: () => void;

  /** Asked by every request, and therefore put together once. */
  readonly #findKey: CompiledQuery<Credential>;

  /**
   * @param known where credentials are looked up first; null inside a transaction, which sees what it did itself
   * @param changed told inside the transaction that a credential counts no more, or counts again
   */
  constructor(db: Kysely<Schema>, known: Remembered<Credential> | null, changed: () => void) {
    this.#db = db;
    this.#known = known;
    this.#changed = changed;
    this.#findKey = this.#credentials().where('api_keys.hash', '=', '').compile();
  }

  async addUser(user: User): Promise<void> {
    const { id, name, createdAt, disabledAt } = user;
    await this.#db
      .insertInto('users')
      .values({ id, name, created_at: createdAt, disabled_at: disabledAt })
      .execute();
  }

  async findUser(name: string): Promise<User | undefined> {
    const row = await this.#db.selectFrom('users').selectAll().where('name', '=', name).executeTakeFirst();
    return row && userOf(row);
  }

  async listUsers(): Promise<User[]> {
    return (await this.#db.selectFrom('users').selectAll().orderBy('name').execute()).map(userOf);
  }

  async disableUser(id: string, at: string | null): Promise<void> {
    this.#changed();
    await this.#db.updateTable('users').set({ disabled_at: at }).where('id', '=', id).execute();
    if (at === null) return;
    await this.#db
      .deleteFrom('browser_sessions')
      .where('key_id', 'in', (e) => e.selectFrom('api_keys').select('id').where('user_id', '=', id))
      .execute();
  }

  async removeUser(id: string): Promise<void> {
    this.#changed();
    await this.#db.deleteFrom('users').where('id', '=', id).execute();
  }

  async addKey(key: ApiKey, hash: CredentialHash): Promise<void> {
    await this.#db
      .insertInto('api_keys')
      .values({
        id: key.id,
        user_id: key.userId,
        label: key.label,
        hash,
        created_at: key.createdAt,
        expires_at: key.expiresAt,
        revoked_at: key.revokedAt,
        last_used_at: key.lastUsedAt,
      })
      .execute();
  }

  findKey(hash: CredentialHash): Promise<Credential | undefined> {
    return this.#known ? this.#known.get(hash, () => this.#readKey(hash)) : this.#readKey(hash);
  }

  async #readKey(hash: CredentialHash): Promise<Credential | undefined> {
    const { rows } = await this.#db.executeQuery<Credential>({ ...this.#findKey, parameters: [hash] });
    return rows[0];
  }

  async listKeys(userId: string): Promise<ApiKey[]> {
    const rows = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('created_at')
      .execute();
    return rows.map((row) => ({
      id: row.id,
      userId: row.user_id,
      label: row.label,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      lastUsedAt: row.last_used_at,
    }));
  }

  async revokeKey(id: string, at: string): Promise<boolean> {
    this.#changed();
    await this.#db.deleteFrom('browser_sessions').where('key_id', '=', id).execute();
    const { numUpdatedRows } = await this.#db
      .updateTable('api_keys')
      .set((e) => ({ revoked_at: e.fn.coalesce('revoked_at', e.val(at)) }))
      .where('id', '=', id)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async restoreKey(id: string): Promise<void> {
    this.#changed();
    await this.#db.updateTable('api_keys').set({ revoked_at: null }).where('id', '=', id).execute();
  }

  async touchKeys(used: ReadonlyMap<string, string>): Promise<void> {
    for (const [id, at] of used) {
      await this.#db.updateTable('api_keys').set({ last_used_at: at }).where('id', '=', id).execute();
    }
  }

  async addSession(
    hash: CredentialHash,
    session: { keyId: string; createdAt: string; expiresAt: string },
  ): Promise<void> {
    await this.#db.deleteFrom('browser_sessions').where('expires_at', '<', session.createdAt).execute();
    await this.#db
      .insertInto('browser_sessions')
      .values({ hash, key_id: session.keyId, created_at: session.createdAt, expires_at: session.expiresAt })
      .execute();
  }

  async findSession(hash: CredentialHash): Promise<Credential | undefined> {
    const row = await this.#credentials()
      .innerJoin('browser_sessions', 'browser_sessions.key_id', 'api_keys.id')
      .select('browser_sessions.expires_at as sessionExpiresAt')
      .where('browser_sessions.hash', '=', hash)
      .executeTakeFirst();
    if (!row) return undefined;
    const { sessionExpiresAt, ...credential } = row;
    const expiresAt =
      credential.expiresAt === null || sessionExpiresAt < credential.expiresAt
        ? sessionExpiresAt
        : credential.expiresAt;
    return { ...credential, expiresAt };
  }

  async endSession(hash: CredentialHash): Promise<void> {
    await this.#db.deleteFrom('browser_sessions').where('hash', '=', hash).execute();
  }

  #credentials() {
    return this.#db
      .selectFrom('api_keys')
      .innerJoin('users', 'users.id', 'api_keys.user_id')
      .select([
        'api_keys.id as keyId',
        'users.id as userId',
        'users.name as userName',
        'users.disabled_at as disabledAt',
        'api_keys.expires_at as expiresAt',
        'api_keys.revoked_at as revokedAt',
      ]);
  }
}

function userOf(row: Selectable<Schema['users']>): User {
  return { id: row.id, name: row.name, createdAt: row.created_at, disabledAt: row.disabled_at };
}
