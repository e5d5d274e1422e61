/**
 * The least a server can do with a message that others follow: makes it durable and writes it to each of them, by
 * server-sent events from Node's own HTTP server or by a room of socket.io. No keys, no log to catch up from, no bound
 * for a slow client; imports nothing of Parley. Serves at `--port` with the database in `--data`, until it is killed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { Server } from 'socket.io';

const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });
const database = new DatabaseSync(join(values.data ?? '.', 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table events (id integer primary key, conversation text not null, body text not null)');
const append = database.prepare('insert into events (conversation, body) values (?, ?)');

const followers = new Map<string, Set<ServerResponse>>();
const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, id = '', what = ''] = /^\/api\/conversations\/([^/]+)\/(.*)$/.exec(request.url ?? '') ?? [];
  if (what === 'message') {
    say(id, ((await json(request)) as { message: string }).message);
    response.end('{}');
  } else if (what === 'events/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    const all = followers.get(id) ?? new Set();
    followers.set(id, all.add(response));
    response.on('close', () => all.delete(response));
  } else {
    response.end();
  }
}

const io = new Server(server, { serveClient: false, transports: ['websocket'] });
io.on('connection', (socket) => socket.join(String(socket.handshake.query['conversation_id'])));
server.listen(Number(values.port), '127.0.0.1');

function say(id: string, content: string): void {
  const args = { content, file_urls: null, image_urls: [], wait_for_response: false, security_risk: -1 };
  const event = {
    id: 0,
    timestamp: new Date().toISOString(),
    source: 'user',
    message: content,
    action: 'message',
    args,
  };
  const body = JSON.stringify(event);
  append.run(id, body);
  for (const response of followers.get(id) ?? []) response.write(`id: 0\ndata: ${body}\n\n`);
  io.to(id).emit('oh_event', event);
}
