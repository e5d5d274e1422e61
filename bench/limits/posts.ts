/**
 * What the same stack can do at best: fastify, a zod schema of the same members and checks, and one durable write of
 * what the operation cannot do without, the writes of a turn in one commit. For settings and providers that is a row as
 * long as ours. For a conversation it is a row that is found by its id, by its user and by whether it waits (three
 * indexes), with its request, and the event its log begins with, in a table with a key of its own; the same lengths as
 * ours. Whose it is, the key says that came with it: the rows of many users lie apart in each index. No key is
 * looked up, no secrets sealed, nothing merged, nothing redacted, no log; imports nothing of Parley.
 * Serves at `--port` with the database in `--data`, until it is killed.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import {
  type FastifyPluginCallbackZod,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import { conversation, providers, settings } from './schemas.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });

/** In the place of sealed secrets, which have to be written with the rest: as many characters as ten of them. */
const SEALED = 'x'.repeat(1_700);

const database = new DatabaseSync(join(values.data ?? '.', 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000;');
database.exec('create table settings (user text primary key, document text not null, sealed text not null)');
database.exec(`
  create table conversations (
    key integer primary key autoincrement, id text not null, user text not null, title text not null,
    state text not null, created_at text not null, last_event integer not null, wanted integer not null,
    request text not null, unique (user, id)
  );
  create index newest on conversations (user, key);
  create index waiting on conversations (user, key) where wanted = 1;
  create table events (
    conversation integer not null, id integer not null, body text not null, primary key (conversation, id)
  );
`);
const upsert = database.prepare(
  `insert into settings values (?, ?, ?)
   on conflict (user) do update set document = excluded.document, sealed = excluded.sealed`,
);
const insert = database.prepare(
  `insert into conversations (id, user, title, state, created_at, last_event, wanted, request)
   values (?, ?, ?, 'loading', ?, 0, 1, ?)`,
);
const append = database.prepare('insert into events values (?, ?, ?)');

let waiting: { write: () => void; done: () => void }[] = [];

function store(write: () => void): Promise<void> {
  return new Promise((done) => {
    if (waiting.length === 0) setImmediate(commit);
    waiting.push({ write, done });
  });
}

function commit(): void {
  const batch = waiting;
  waiting = [];
  database.exec('begin immediate');
  for (const { write } of batch) write();
  database.exec('commit');
  for (const { done } of batch) done();
}

const routes: FastifyPluginCallbackZod = (server, _options, done) => {
  const message = z.object({ message: z.string() });

  server.post(
    '/api/settings',
    { schema: { body: settings, response: { 200: message } } },
    async ({ body }) => {
      const document = JSON.stringify(body);
      await store(() => upsert.run('ann', document, SEALED));
      return { message: 'Settings stored' };
    },
  );

  server.post(
    '/api/add-git-providers',
    { schema: { body: providers, response: { 200: message } } },
    async ({ body }) => {
      for (const entry of Object.values(body.provider_tokens ?? {})) {
        if (typeof entry !== 'object' || entry === null) continue;
        const answer = await fetch(`${entry.host}/api/v3/user`, {
          headers: { authorization: `Bearer ${entry.token}` },
        });
        await answer.json();
      }
      const document = JSON.stringify(body);
      await store(() => upsert.run('ann', document, SEALED));
      return { message: 'Git providers stored' };
    },
  );

  server.post(
    '/api/conversations',
    {
      schema: {
        body: conversation,
        response: { 200: z.object({ status: z.string(), message: z.null(), conversation_id: z.string() }) },
      },
    },
    async ({ body, headers }) => {
      // As long as the id of a user.
      const user = String(headers['x-session-api-key']).slice(0, 36);
      const id = randomUUID().replaceAll('-', '');
      const message = body.initial_user_msg ?? '';
      // Sealed and in base64 it is a third longer.
      const request = JSON.stringify(body).padEnd(Math.ceil((JSON.stringify(body).length * 4) / 3));
      const timestamp = new Date().toISOString();
      const event = JSON.stringify({
        id: 0,
        timestamp,
        source: 'environment',
        message: '',
        observation: 'agent_state_changed',
        content: '',
        extras: { agent_state: 'loading', reason: '' },
      });
      await store(() => {
        const { lastInsertRowid: key } = insert.run(id, user, message.slice(0, 50), timestamp, request);
        append.run(key, 0, event);
      });
      return { status: 'ok', message: null, conversation_id: id };
    },
  );
  done();
};

const server = Fastify();
server.setValidatorCompiler(validatorCompiler);
server.setSerializerCompiler(serializerCompiler);
await server.register(routes);
await server.listen({ host: '127.0.0.1', port: Number(values.port) });
