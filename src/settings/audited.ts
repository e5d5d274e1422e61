import { type AuditFact, keyActor } from '../audit/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { ProviderName } from '../contract/providers.ts';
import { SECRET_PATHS } from './document.ts';
import type { BoundSecret } from './store.ts';

type BoundSecrets = Readonly<Record<string, BoundSecret>>;

const TOKENS = SECRET_PATHS.token('' as ProviderName);
const CUSTOM = SECRET_PATHS.custom('');

/** What became of the secrets, one fact for each that was set or removed. One that was posted again unchanged has none. */
export function secretFacts(by: Principal, before: BoundSecrets, after: BoundSecrets): AuditFact[] {
  const facts: AuditFact[] = [];
  for (const path in after) {
    const now = after[path];
    if (now && before[path]?.sealed !== now.sealed) facts.push(factOf(by, path, now));
  }
  for (const path in before) if (!Object.hasOwn(after, path)) facts.push(factOf(by, path, null));
  return facts;
}

/** A token that its provider did not take. Nothing of the request was stored. */
export function refusalFact(by: Principal, provider: string): AuditFact {
  return { action: 'token.refused', userId: by.userId, actor: keyActor(by), subject: provider };
}

function factOf(by: Principal, path: string, now: BoundSecret | null): AuditFact {
  const who = { userId: by.userId, actor: keyActor(by) };
  if (path.startsWith(TOKENS)) {
    const subject = path.slice(TOKENS.length);
    return now
      ? { action: 'token.stored', ...who, subject, detail: { destination: now.destination } }
      : { action: 'token.cleared', ...who, subject };
  }
  if (path.startsWith(CUSTOM)) {
    return {
      action: now ? 'custom_secret.set' : 'custom_secret.removed',
      ...who,
      subject: path.slice(CUSTOM.length),
    };
  }
  if (path === 'llm_api_key' && now)
    return { action: 'secret.set', ...who, subject: path, detail: { destination: now.destination } };
  return { action: now ? 'secret.set' : 'secret.cleared', ...who, subject: withoutUrlPath(path) };
}

/** The address of an MCP server may have a key in its path or query. */
function withoutUrlPath(path: string): string {
  const [, list = '', url = ''] = /^(mcp_config\.(?:sse|shttp)_servers\.)(.*)$/.exec(path) ?? [];
  return URL.canParse(url) ? `${list}${new URL(url).origin}` : path;
}
