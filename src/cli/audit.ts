import type { AuditEntry } from '../audit/audit.ts';
import type { Storage } from '../storage/storage.ts';
import { parse, startOf } from './options.ts';
import type { Terminal } from './terminal.ts';

/** Entries held in memory at once. */
const PAGE = 500;

/** `audit [--user NAME] [--since 7d] [--json]`: what was done, oldest first, a line each. */
export function parseAudit(args: readonly string[]) {
  const { values } = parse(args, {
    user: { type: 'string' },
    since: { type: 'string' },
    json: { type: 'boolean', default: false },
  });
  const since = values.since === undefined ? undefined : startOf(values.since, new Date()).toISOString();
  const line = values.json ? (entry: AuditEntry) => JSON.stringify(entry) : readable;

  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    for (let after = 0; ;) {
      const page = await storage.read.audit.list({
        limit: PAGE,
        after,
        ...(values.user !== undefined && { user: values.user }),
        ...(since !== undefined && { since }),
      });
      for (const entry of page) terminal.out(line(entry));
      const last = page.at(-1);
      if (!last) return;
      after = last.id;
    }
  };
}

/** Times, names and ids first, in columns that a terminal shows whole. */
function readable({ at, action, user, actor, subject, detail }: AuditEntry): string {
  const columns = [at.slice(0, 19), action.padEnd(20), (user ?? '-').padEnd(12), actor.padEnd(16), subject];
  const more = Object.keys(detail).length > 0 ? JSON.stringify(detail) : '';
  return [...columns, more].join('  ').trimEnd();
}
