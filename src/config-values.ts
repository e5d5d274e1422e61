import { isIP } from 'node:net';
import { z } from 'zod';
import { type HostList, parseHostList } from './egress/host-list.ts';
import type { FreeSpaceRule } from './free-space.ts';

/** The forms that values of variables have: each from its text, with what to say of another. See `config.ts`. */

export function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^[0-9]{1,15}$/, `must be an integer from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be an integer from ${min} to ${max}`);
}

/** A timer of Node's holds a little more than 24 days. */
export const MAX_TIMER_SECONDS = 2_000_000;

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

export const bytes = z
  .string()
  .regex(/^[0-9]{1,12}[KMGT]?$/i, 'must be a number of bytes, or one with K, M, G or T: 4G')
  .transform((text) => {
    const [, digits, unit = ''] = /^([0-9]+)([KMGT]?)$/i.exec(text) ?? [];
    return Number(digits) * (UNITS[unit.toUpperCase()] ?? 1);
  })
  .refine((value) => value >= 2 ** 20 && Number.isSafeInteger(value), 'must be at least 1M');

export const freeSpace = z.string().transform((text, context): FreeSpaceRule => {
  const rule: FreeSpaceRule = { bytes: null, share: null };
  for (const part of text.split(',').map((entry) => entry.trim())) {
    const percent = /^([0-9]{1,2})%$/.exec(part)?.[1];
    const parsed = bytes.safeParse(part);
    if (percent !== undefined) rule.share = Number(percent) / 100;
    else if (parsed.success) rule.bytes = parsed.data;
    else if (part !== '0') {
      context.addIssue({
        code: 'custom',
        message: 'must be an amount, a percentage or both: 1G,2%; 0 for none',
      });
    }
  }
  return rule;
});

export const hosts = z.string().transform((text, context): HostList => {
  const parsed = parseHostList(text);
  if (parsed.ok) return parsed.list;
  context.addIssue({ code: 'custom', message: parsed.problem });
  return z.NEVER;
});

export function list(what: string, isRight: (entry: string) => boolean) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .refine((entries) => entries.every(isRight), `must be ${what}, separated by commas`);
}

/** An address that the operator names for the service to call. */
export const httpAddress = z
  .string()
  .refine(
    (url) => /^https?:\/\//.test(url) && URL.canParse(url) && !/[?#@]/.test(url),
    'must be an http or https address without user, query or fragment: https://search.example/api',
  )
  .transform((url) => url.replace(/\/+$/, ''));

export const isOrigin = (entry: string): boolean => URL.canParse(entry) && new URL(entry).origin === entry;

export function isProxy(entry: string): boolean {
  if (entry === 'loopback' || entry === 'none') return true;
  const [address = '', bits, ...rest] = entry.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  const fits = bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= most);
  return isIP(address) !== 0 && fits && rest.length === 0;
}

export const isSubmodule = (entry: string): boolean =>
  /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*\/([A-Za-z0-9._-]+|\*)$/.test(entry);

const isKeyOf32Bytes = (text: string): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, 'base64').length === 32;

export const keyOf32Bytes = z
  .string()
  .refine(isKeyOf32Bytes, 'must be 32 bytes in base64; "openssl rand -base64 32" makes such a key');

export const maxRunning = z
  .string()
  .regex(/^[0-9]{1,6}(,[0-9]{1,6})?$/, 'must be PER_USER,IN_ALL: 10,100')
  .transform((text) => {
    const [perUser = 0, inAll = perUser] = text.split(',').map(Number);
    return { perUser, inAll };
  })
  .refine(
    ({ perUser, inAll }) => perUser >= 1 && inAll >= perUser,
    'must be PER_USER,IN_ALL with 1 ≤ PER_USER ≤ IN_ALL',
  );
