import { type AuditStore, keyActor } from '../audit/audit.ts';
import type { Transact } from '../transact.ts';
import { hashOf, newSessionToken } from './credential.ts';
import type { Principal } from './principal.ts';
import type { Credential, KeyStore } from './store.ts';
import type { Secret } from '../secrets/secret.ts';

/** Whether a credential counts, and if not, why: the one who shows it may know. */
export type Verdict = { ok: true; principal: Principal } | { ok: false; why: Refusal };
type Refusal = 'unknown' | 'revoked' | 'expired' | 'disabled';

/** Days until a browser has to log in again. */
const SESSION_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Uses of keys are written this often, in one transaction. */
const FLUSH_MS = 60_000;

interface AuthStores {
  keys: KeyStore;
  audit: AuditStore;
}

/**
 * Says who a key or a browser session belongs to. What this process revokes counts no more at once; what the command
 * line revokes, from the next turn of the event loop on.
 */
export class Authenticator {
  readonly #keys: KeyStore;
  readonly #transact: Transact<AuthStores>;
  readonly #now: () => Date;
  readonly #onFlushFailed: (error: unknown) => void;
  readonly #admitted: (principal: Principal) => void;
  readonly #timer: NodeJS.Timeout;
  #used = new Map<string, Date>();

  /** @param more `admitted` is told who comes in before anything is done for them */
  constructor(
    keys: KeyStore,
    transact: Transact<AuthStores>,
    onFlushFailed: (error: unknown) => void,
    more: { now?: () => Date; admitted?: (principal: Principal) => void } = {},
  ) {
    this.#keys = keys;
    this.#transact = transact;
    this.#now = more.now ?? (() => new Date());
    this.#admitted = more.admitted ?? (() => {});
    this.#onFlushFailed = onFlushFailed;
    this.#timer = setInterval(() => void this.flush().catch(onFlushFailed), FLUSH_MS).unref();
  }

  async byKey(key: string): Promise<Verdict> {
    return this.#judge(await this.#keys.findKey(hashOf(key)));
  }

  async bySession(token: string): Promise<Verdict> {
    return this.#judge(await this.#keys.findSession(hashOf(token)));
  }

  /**
   * A browser session that stands for the key: it ends when the key does, at the latest after `maxAgeSeconds`.
   * @param address where the browser is, for the audit log
   */
  async openSession(
    principal: Principal,
    address: string,
  ): Promise<{ token: Secret; maxAgeSeconds: number }> {
    const token = newSessionToken();
    const now = this.#now();
    const expiresAt = new Date(now.getTime() + SESSION_DAYS * DAY_MS);
    await this.#transact(async ({ keys, audit }) => {
      await keys.addSession(hashOf(token.unwrap()), {
        keyId: principal.keyId,
        createdAt: now.toISOString(),
        expiresAt: expiresAt.toISOString(),
      });
      const { userId } = principal;
      await audit.add([{ action: 'login.ok', userId, actor: keyActor(principal), subject: address }]);
    });
    return { token, maxAgeSeconds: (SESSION_DAYS * DAY_MS) / 1000 };
  }

  /** Notes that somebody at that address showed a key that does not let in. */
  async refusedLogin(why: Refusal, address: string): Promise<void> {
    const fact = { userId: null, actor: 'nobody', subject: address, detail: { why } };
    await this.#transact(({ audit }) => audit.add([{ action: 'login.failed', ...fact }]));
  }

  async closeSession(token: string): Promise<void> {
    await this.#transact(({ keys }) => keys.endSession(hashOf(token)));
  }

  /** Writes when each key was last used. */
  async flush(): Promise<void> {
    const used = this.#used;
    if (used.size === 0) return;
    this.#used = new Map();
    const times = new Map([...used].map(([keyId, at]) => [keyId, at.toISOString()]));
    await this.#transact(({ keys }) => keys.touchKeys(times));
  }

  /** Stops the timer and writes what is left, if it can: no reason for a stop to fail. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush().catch(this.#onFlushFailed);
  }

  #judge(credential: Credential | undefined): Verdict {
    if (!credential) return { ok: false, why: 'unknown' };
    const now = this.#now();
    if (credential.revokedAt !== null) return { ok: false, why: 'revoked' };
    if (credential.expiresAt !== null && credential.expiresAt <= now.toISOString()) {
      return { ok: false, why: 'expired' };
    }
    if (credential.disabledAt !== null) return { ok: false, why: 'disabled' };
    this.#used.set(credential.keyId, now);
    const { userId, userName, keyId } = credential;
    const principal = { userId, userName, keyId };
    this.#admitted(principal);
    return { ok: true, principal };
  }
}
