import type { Principal } from '../auth/principal.ts';
import { canonicalRequest, requestBinding, selectionOf } from '../conversations/request.ts';
import type { ConversationStore } from '../conversations/store.ts';
import { ServiceError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import { redactEvent } from '../events/redact.ts';
import type { Vault } from '../secrets/vault.ts';
import type { SettingsService } from '../settings/service.ts';
import type { Transact } from '../transact.ts';
import { pastConversation, type PastConversation } from './conversation.ts';
import type { OpenHandsHome } from './read-home.ts';
import { fittingSettings } from './settings.ts';

interface Stores {
  conversations: ConversationStore;
  events: EventLog;
}

export interface ImportOptions {
  home: OpenHandsHome;
  /** Whose all of it becomes. */
  user: Principal;
  read: Stores;
  transact: Transact<Stores>;
  vault: Vault;
  settings: SettingsService;
}

/** What became of it. `leftOut` names each file or member, and never has a value in it. */
export interface ImportReport {
  /** Members of the settings, tokens and secrets that are stored now. */
  settings: string[];
  conversations: number;
  events: number;
  /** Conversations that were there already. */
  known: number;
  leftOut: string[];
}

/** Events that are stored by one statement. */
const AT_ONCE = 200;

/**
 * Takes over what OpenHands V0 has kept: settings and secrets by the same rules as over HTTP, tokens unverified, each
 * conversation in one transaction, stopped. Again, it finds nothing new; interrupted, it goes on when called again.
 */
export async function importOpenHands(options: ImportOptions): Promise<ImportReport> {
  const report: ImportReport = { settings: [], conversations: 0, events: 0, known: 0, leftOut: [] };
  await importSettings(options, report);
  const { redact } = await options.settings.redactor(options.user.userId);
  for (const id of await oldestFirst(options.home)) {
    if (await options.read.conversations.find(options.user.userId, id)) {
      report.known += 1;
      continue;
    }
    const { conversation, problems } = pastConversation(await options.home.session(id));
    for (const { name, why } of problems) report.leftOut.push(`${name} ${why}`);
    if (conversation === null) continue;
    const stored = await store(options, conversation, redact);
    if (!stored) continue;
    report.conversations += 1;
    report.events += conversation.events.length;
  }
  return report;
}

async function importSettings({ home, user, settings }: ImportOptions, report: ImportReport): Promise<void> {
  for (const name of ['settings.json', 'secrets.json']) {
    const file = await home.read(name);
    if (file === null) continue;
    if ('problem' in file) {
      report.leftOut.push(`${name} ${file.problem}`);
      continue;
    }
    const given = name === 'secrets.json' ? { secrets_store: file.json } : file.json;
    const { patch, problems, names } = fittingSettings(given);
    for (const { member, why } of problems) report.leftOut.push(`${name} ${member}: ${why}`);
    if (names.length === 0) continue;
    try {
      await settings.patch(user, patch);
      // V0's settings file has a place for secrets, too.
      report.settings.push(...names.filter((member) => !report.settings.includes(member)));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      report.leftOut.push(`${name}: ${error.message}`);
    }
  }
}

/** Lists show the newest first by the order in which they came. */
async function oldestFirst(home: OpenHandsHome): Promise<string[]> {
  const dated: { id: string; at: string }[] = [];
  for (const id of await home.sessionIds()) {
    const file = await home.metadata(id);
    const json = 'json' in file ? file.json : null;
    const created = typeof json === 'object' && json !== null && 'created_at' in json ? json.created_at : '';
    dated.push({ id, at: typeof created === 'string' ? created : '' });
  }
  const key = ({ id, at }: { id: string; at: string }): string => `${at} ${id}`;
  return dated.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)).map(({ id }) => id);
}

/** All of it or nothing. False when it has come there meanwhile. */
async function store(
  { user: { userId }, transact, vault }: ImportOptions,
  { id, title, trigger, createdAt, request, events }: PastConversation,
  redact: (text: string) => string,
): Promise<boolean> {
  const sealed = vault.seal(canonicalRequest(request), requestBinding(userId, id));
  const clean = events.map((event) => redactEvent(event, redact));
  return await transact(async (stores) => {
    if (await stores.conversations.find(userId, id)) return false;
    const key = await stores.conversations.insert({
      id,
      userId,
      title: redact(title),
      ...selectionOf(request),
      trigger,
      createdAt,
      unfinished: false,
      request: sealed,
    });
    for (let from = 0; from < clean.length; from += AT_ONCE) {
      await stores.events.append(key, clean.slice(from, from + AT_ONCE));
    }
    await stores.conversations.change(key, {
      status: 'STOPPED',
      runtimeStatus: 'STATUS$STOPPED',
      wanted: false,
    });
    return true;
  });
}
