import { COMMAND_LINE } from '../audit/audit.ts';
import type { User } from '../auth/store.ts';
import { StartError } from '../start-error.ts';
import { removeWorkspaces } from './workspaces.ts';
import type { Storage, Stores } from '../storage/storage.ts';
import { parse } from './options.ts';
import { type Terminal, table } from './terminal.ts';

const WHO = ['The name of the user'];

/** `users list` */
export function parseList(args: readonly string[]) {
  parse(args, {});
  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    const rows = [['USER', 'SINCE', 'STATE']];
    for (const user of await storage.read.keys.listUsers()) {
      rows.push([user.name, user.createdAt.slice(0, 10), user.disabledAt === null ? 'active' : 'disabled']);
    }
    for (const line of table(rows)) terminal.out(line);
  };
}

/** `users disable NAME`: all keys of the user count no more, until `users enable NAME`. Nothing is lost. */
export function parseDisable(args: readonly string[], disable: boolean) {
  const [name = ''] = parse(args, {}, WHO).words;
  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    await storage.transact(async ({ keys, audit }) => {
      const user = await find(keys, name);
      await keys.disableUser(user.id, disable ? new Date().toISOString() : null);
      const action = disable ? 'user.disabled' : 'user.enabled';
      await audit.add([{ action, userId: user.id, actor: COMMAND_LINE, subject: name }]);
    });
    terminal.note(disable ? `The keys of ${name} count no more.` : `The keys of ${name} count again.`);
  };
}

/** `users erase NAME --yes`: all that is stored of the user, workspaces too, beside a running server or without one. */
export function parseErase(args: readonly string[]) {
  const { values, words } = parse(args, { yes: { type: 'boolean', default: false } }, WHO);
  const [name = ''] = words;
  return async (storage: Storage, terminal: Terminal, dataDir: string): Promise<void> => {
    if (!values.yes) {
      await find(storage.read.keys, name);
      throw new StartError(
        `This removes ${name} with all keys, settings, tokens, secrets, conversations and workspaces, for good. Say --yes to do it.`,
      );
    }
    const conversations = await storage.transact((stores) => erase(stores, name));
    const left = await removeWorkspaces(storage, dataDir);
    terminal.note(`${name} is erased, with ${conversations} conversations.`);
    if (left > 0) terminal.note(`${left} workspaces are still there; the server goes on removing them.`);
  };
}

async function erase({ keys, conversations, audit }: Stores, name: string): Promise<number> {
  const user = await find(keys, name);
  let removed = 0;
  for (;;) {
    const page = await conversations.list(user.id, { limit: 100 });
    if (page.length === 0) break;
    for (const { key } of page) await conversations.remove(key);
    removed += page.length;
  }
  await audit.add([
    {
      action: 'user.erased',
      userId: user.id,
      actor: COMMAND_LINE,
      subject: name,
      detail: { conversations: removed },
    },
  ]);
  await keys.removeUser(user.id);
  return removed;
}

async function find(keys: Stores['keys'], name: string): Promise<User> {
  const user = await keys.findUser(name);
  if (!user) throw new StartError(`There is no user ${name}; "users list" shows all there are.`);
  return user;
}
