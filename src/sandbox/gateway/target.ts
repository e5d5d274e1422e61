/** What a program behind the proxy asks for. */
export type Target = { ok: true; url: URL } | { ok: false; reason: string };

const ABSOLUTE = /^http:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?([/?][\x21-\x7e\x80-\xff]*)?$/i;
const AUTHORITY = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})$/;

/**
 * Reads a request line's target: the absolute form alone (RFC 9112, 3.2.2), by plain http, without a user name or a
 * password, its host spelled plainly.
 */
export function absoluteTarget(raw: string): Target {
  const refuse = (reason: string): Target => ({ ok: false, reason });
  if (raw.startsWith('/') || raw === '*') return refuse('this is a proxy: the request must name its host');
  if (/^https:/i.test(raw)) return refuse('https goes through CONNECT');
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(raw))
    return refuse('a user name or password in the address is not passed on');
  const url = ABSOLUTE.test(raw) ? URL.parse(raw) : null;
  return url ? { ok: true, url } : refuse('the address is not a plain http:// one');
}

/** Reads the target of CONNECT: `host:port`. */
export function tunnelTarget(raw: string): { host: string; port: number } | null {
  const match = AUTHORITY.exec(raw);
  const port = Number(match?.[2]);
  return match?.[1] !== undefined && port >= 1 && port <= 65_535 ? { host: match[1], port } : null;
}
