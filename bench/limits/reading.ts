/**
 * The least that reading a page can cost: fastify, and one query of the same database file. No keys, no views, no
 * schemas; imports nothing of Parley. Serves at `--port` what `--database` holds, until it is killed.
 */
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';

const { values } = parseArgs({ options: { port: { type: 'string' }, database: { type: 'string' } } });
const database = new DatabaseSync(values.database ?? '', { readOnly: true });
const row = database.prepare('select user_id from conversations limit 1').get();
const user = String(row?.['user_id']);
const list = database.prepare('select * from conversations where user_id = ? order by key desc limit ?');
const listOf = database.prepare(
  'select * from conversations where user_id = ? and selected_repository = ? order by key desc limit ?',
);
const page = database.prepare(
  `select body from events where conversation = (select key from conversations where user_id = ? and id = ?)
   and id >= ? order by id limit ?`,
);

interface Query {
  limit: string;
  start_id?: string;
  selected_repository?: string;
}

const server = Fastify();
server.get('/api/conversations', ({ query }) => {
  const { limit, selected_repository: repository } = query as Query;
  return repository === undefined
    ? list.all(user, Number(limit))
    : listOf.all(user, repository, Number(limit));
});
server.get('/api/conversations/:id/events', ({ params, query }, reply) => {
  const { limit, start_id } = query as Query;
  const { id } = params as { id: string };
  const bodies = page.all(user, id, Number(start_id), Number(limit)).map(({ body }) => String(body));
  return reply.type('application/json').send(`{"events":[${bodies.join(',')}]}`);
});
await server.listen({ host: '127.0.0.1', port: Number(values.port) });
