import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomFillSync,
} from 'node:crypto';
import { Secret } from './secret.ts';

/** Text of the form `v1.<key id>.<base64url of iv, ciphertext and tag>`. */
export type Sealed = string & { readonly sealed: unique symbol };

/**
 * What a sealed value is bound to: the table and row owner it stands in, the member, and the destination it may
 * go to. All of it is authenticated, so that a value moved to another row or destination no longer opens.
 */
export type Binding = readonly [table: string, user: string, member: string, destination: string];

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Why a sealed value did not open. */
export class VaultError extends Error {
  override readonly name = 'VaultError';
}

/**
 * Seals secrets with AES-256-GCM (NIST SP 800-38D), a fresh random 96-bit IV each, the binding as AAD. Seals with one
 * key; opens with that and, while the keys are changed, with the former one.
 */
export class Vault {
  readonly #key: KeyObject;
  /** Names the key that it seals with. */
  readonly keyId: string;
  /** By the id of the key. */
  readonly #keys: ReadonlyMap<string, KeyObject>;
  /** Random bytes drawn ahead, as asking for twelve costs as much as asking for thousands. Each is used once. */
  readonly #random = Buffer.alloc(IV_BYTES * 256);
  #used = this.#random.length;

  /** @param key 32 random bytes. @param former one that may have sealed what is still stored */
  constructor(key: Buffer, former: Buffer | null = null) {
    const [id, object] = namedKey(key);
    this.#key = object;
    this.keyId = id;
    this.#keys = new Map(former === null ? [[id, object]] : [namedKey(former), [id, object]]);
  }

  /** Whether a value was sealed with the key that it seals with now. */
  sealsLike(sealed: Sealed): boolean {
    return sealed.split('.', 2)[1] === this.keyId;
  }

  seal(secret: Secret, binding: Binding): Sealed {
    const iv = this.#freshIv();
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(Buffer.from(JSON.stringify(binding)));
    const body = Buffer.concat([
      iv,
      cipher.update(secret.unwrap(), 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return `v1.${this.keyId}.${body.toString('base64url')}` as Sealed;
  }

  /** @throws VaultError when it was sealed with another key, bound to something else, or changed. */
  open(sealed: Sealed, binding: Binding): Secret {
    const [version, keyId, body] = sealed.split('.');
    if (version !== 'v1' || body === undefined)
      throw new VaultError('The stored secret has an unknown form.');
    const key = this.#keys.get(keyId ?? '');
    if (key === undefined) {
      throw new VaultError(
        `The stored secret was sealed with key ${keyId}; the key in use is ${this.keyId}.`,
      );
    }
    const bytes = Buffer.from(body, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(JSON.stringify(binding)));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return new Secret(Buffer.concat([plain, decipher.final()]).toString('utf8'));
    } catch (cause) {
      throw new VaultError('The stored secret does not open: it was changed, or moved to another place.', {
        cause,
      });
    }
  }

  #freshIv(): Buffer {
    if (this.#used === this.#random.length) {
      randomFillSync(this.#random);
      this.#used = 0;
    }
    // A copy: what was handed out must not change when the pool is filled again.
    return Buffer.from(this.#random.subarray(this.#used, (this.#used += IV_BYTES)));
  }
}

function namedKey(key: Buffer): [string, KeyObject] {
  if (key.length !== 32) throw new VaultError(`The secret key has ${key.length} bytes; it must have 32.`);
  const id = createHash('sha256').update('parley key id\0').update(key).digest('hex').slice(0, 12);
  // A KeyObject is checked once; raw bytes cost eight times the sealing at each use.
  return [id, createSecretKey(key)];
}
