/**
 * What a server of the bench talks to, on a free port that it prints: a git host that answers at once whose token it
 * is, and a model that never answers a POST. Ends with its standard input.
 */
import { createServer } from 'node:http';

const server = createServer((request, reply) => {
  if (request.method !== 'GET') return;
  reply.setHeader('content-type', 'application/json');
  reply.end('{"login":"ann"}');
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`);
});
process.stdin.resume().on('end', () => process.exit());
