import { randomBytes } from 'node:crypto';
import { z } from 'zod';

/** An address from an LFS answer, with the headers its host wants there. Both stay with the gateway. */
export interface LfsAction {
  href: URL;
  headers: Readonly<Record<string, string>>;
}

const KEPT = 20_000;

const action = z.looseObject({
  href: z.url({ protocol: /^https?$/ }),
  header: z.record(z.string(), z.string()).nullish(),
});
const batchAnswer = z.looseObject({
  objects: z.array(z.looseObject({ actions: z.record(z.string(), action).nullish() })).nullish(),
});

/** The client builds its request by these; all others are the gateway's to send. */
const FOR_THE_CLIENT = new Set(['content-type', 'transfer-encoding']);

/**
 * An LFS batch answer names for each file an address, often with an `Authorization` header: the token that was sent,
 * or one made from it. A sandbox gets neither. It gets an address of the gateway's own, good for that one file while
 * the gateway lives.
 * Source: https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md
 */
export class LfsActions {
  readonly #kept = new Map<string, LfsAction>();

  find(id: string): LfsAction | null {
    return this.#kept.get(id) ?? null;
  }

  /**
   * @param body the host's answer
   * @param under the address inside below which the gateway answers for actions
   * @param ownOrigin the provider's: what lies there can't be reached from inside but by the gateway
   * @returns the answer for the sandbox; null when this is no batch answer
   */
  rewrite(body: string, under: string, ownOrigin: string): string | null {
    const parsed = batchAnswer.safeParse(parseJson(body));
    if (!parsed.success) return null;
    const objects = parsed.data.objects?.map((object) => {
      if (!object.actions) return object;
      const actions = Object.entries(object.actions).map(([name, { href, header, ...rest }]) => {
        const url = new URL(href);
        const headers = header ?? {};
        const open = url.origin !== ownOrigin && Object.keys(headers).every(isForTheClient);
        if (open) return [name, { ...rest, href, header }];
        const shown = Object.fromEntries(Object.entries(headers).filter(([key]) => isForTheClient(key)));
        return [name, { ...rest, href: `${under}/${this.#keep({ href: url, headers })}`, header: shown }];
      });
      // Or the client would ask for a password.
      return { ...object, authenticated: true, actions: Object.fromEntries(actions) };
    });
    return JSON.stringify({ ...parsed.data, objects });
  }

  #keep(kept: LfsAction): string {
    const id = randomBytes(18).toString('base64url');
    this.#kept.set(id, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return id;
  }
}

function isForTheClient(header: string): boolean {
  return FOR_THE_CLIENT.has(header.toLowerCase());
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
