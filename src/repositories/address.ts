/**
 * What a repository is called at the provider at `base` whose page has this address, when it is an address.
 * @returns null for an address that lies elsewhere or names no repository; undefined for what is no address
 */
export function nameInAddress(text: string, base: string): string | null | undefined {
  const given = /^https?:\/\//i.test(text.trim()) ? URL.parse(text.trim()) : null;
  if (!given) return undefined;
  const root = URL.parse(base);
  if (!root || given.host !== root.host) return null;
  const prefix = root.pathname.replace(/\/$/, '');
  if (!given.pathname.startsWith(`${prefix}/`)) return null;
  const path = decoded(given.pathname.slice(prefix.length + 1));
  const name = path?.replace(/\/+$/, '').replace(/\.git$/, '') ?? '';
  return name.includes('/') ? name : null;
}

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}
