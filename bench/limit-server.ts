/**
 * What the same stack can do at best: fastify, a zod schema of the same members and checks, one durable write of a row
 * as long as ours, the writes of a turn in one commit. No keys, no secrets sealed, nothing merged, no events, no log;
 * imports nothing of Parley. Serves at `--port` with the database in `--data`, until it is killed.
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
import { conversation, providers, settings } from './limit-schemas.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });

/** In the place of sealed secrets, which have to be written with the rest: as many characters as ten of them. */
const SEALED = 'x'.repeat(1_700);

const database = new DatabaseSync(join(values.data ?? '.', 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table settings (user text primary key, document text not null, sealed text not null)');
database.exec('create table conversations (id text primary key, document text not null)');
const upsert = database.prepare(
  `insert into settings values (?, ?, ?)
   on conflict (user) do update set document = excluded.document, sealed = excluded.sealed`,
);
const insert = database.prepare('insert into conversations values (?, ?)');

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
    async ({ body }) => {
      const id = randomUUID().replaceAll('-', '');
      const document = JSON.stringify(body);
      await store(() => insert.run(id, document));
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
