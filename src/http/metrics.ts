import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { isLoopback } from '../config.ts';
import { Metrics } from '../observe/metrics.ts';
import { principalOf } from './auth.ts';

/** Measures every answer from here on, and gives the numbers at `/metrics`: on loopback to anyone, else with a key. */
export function measureRequests(server: FastifyInstance, auth: Authenticator): void {
  const metrics = new Metrics();
  server.decorate('metrics', metrics);
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)';
    metrics.request(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
    done();
  });
  server.addHook('onClose', (_server, done) => {
    metrics.close();
    done();
  });
  server.get('/metrics', { config: { open: true }, logLevel: 'warn' }, async (request, reply) => {
    if (!isLoopback(request.ip.replace(/^::ffff:/, ''))) await principalOf(request, auth);
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(metrics.text());
  });
}
