import { COMMAND_LINE } from '../audit/audit.ts';
import { USER_NAME, createKey, ensureUser } from '../auth/keys.ts';
import { SESSION_KEY_LABEL } from '../auth/session-key.ts';
import type { ApiKey, KeyStore, User } from '../auth/store.ts';
import { StartError } from '../start-error.ts';
import type { Storage } from '../storage/storage.ts';
import { endOf, parse, required } from './options.ts';
import { type Terminal, UsageError, table } from './terminal.ts';

/** `keys create --user NAME [--name LABEL] [--expires 30d]`: the key stands alone on the last line. */
export function parseCreate(args: readonly string[]) {
  const { values } = parse(args, {
    user: { type: 'string' },
    name: { type: 'string', default: '' },
    expires: { type: 'string' },
  });
  const user = required(values.user, '--user');
  if (!USER_NAME.test(user)) {
    throw new UsageError('A user is called by up to 64 letters, digits, ".", "_", "@" or "-".');
  }
  if (values.name === SESSION_KEY_LABEL) throw new UsageError(`The name ${SESSION_KEY_LABEL} is taken.`);
  if (!/^[^\p{Cc}]{0,100}$/u.test(values.name))
    throw new UsageError('--name takes one line of up to 100 characters.');
  const expiresAt = values.expires === undefined ? null : endOf(values.expires, new Date());

  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    const { id, key, disabled } = await storage.transact(async ({ keys, audit }) => {
      const owner = await ensureUser(keys, user);
      const made = await createKey(keys, owner, { label: values.name, expiresAt });
      const detail = { label: values.name, expires: expiresAt?.toISOString() ?? null };
      await audit.add([
        { action: 'key.created', userId: owner.id, actor: COMMAND_LINE, subject: made.id, detail },
      ]);
      return { ...made, disabled: owner.disabledAt !== null };
    });
    if (disabled)
      terminal.note(`The user ${user} is disabled: the key counts once "users enable ${user}" was called.`);
    const until = expiresAt ? `, until ${expiresAt.toISOString()}` : '';
    terminal.note(`Key ${id} of the user ${user}${until}. It is shown only now:`);
    terminal.out(key.unwrap());
  };
}

/** `keys list [--user NAME]`: all but the keys themselves. */
export function parseList(args: readonly string[]) {
  const { values } = parse(args, { user: { type: 'string' } });
  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    const { keys } = storage.read;
    const users = (await keys.listUsers()).filter(
      ({ name }) => values.user === undefined || name === values.user,
    );
    const rows = [['ID', 'USER', 'NAME', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE']];
    for (const user of users) {
      for (const key of await keys.listKeys(user.id)) {
        const state = user.disabledAt === null ? stateOf(key, new Date()) : 'user disabled';
        rows.push([
          key.id,
          user.name,
          key.label || '-',
          minutes(key.createdAt),
          minutes(key.expiresAt),
          minutes(key.lastUsedAt),
          state,
        ]);
      }
    }
    for (const line of table(rows)) terminal.out(line);
  };
}

/** `keys revoke ID` */
export function parseRevoke(args: readonly string[]) {
  const [id = ''] = parse(args, {}, ['The id of the key']).words;
  return async (storage: Storage, terminal: Terminal): Promise<void> => {
    await storage.transact(async ({ keys, audit }) => {
      const owner = await ownerOf(keys, id);
      if (!owner) throw new StartError(`There is no key ${id}; "keys list" shows all there are.`);
      await keys.revokeKey(id, new Date().toISOString());
      await audit.add([{ action: 'key.revoked', userId: owner.id, actor: COMMAND_LINE, subject: id }]);
    });
    terminal.note(`Key ${id} counts no more.`);
  };
}

async function ownerOf(keys: KeyStore, id: string): Promise<User | undefined> {
  for (const user of await keys.listUsers()) {
    if ((await keys.listKeys(user.id)).some((key) => key.id === id)) return user;
  }
  return undefined;
}

function stateOf(key: ApiKey, now: Date): string {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now.toISOString() ? 'expired' : 'valid';
}

function minutes(time: string | null): string {
  return time === null ? '-' : time.slice(0, 16).replace('T', ' ');
}
