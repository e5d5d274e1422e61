import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Authenticator } from '../auth/authenticator.ts';
import { isLoopback } from '../config.ts';
import { problems } from '../contract/problem.ts';
import type { Metrics } from '../observe/metrics.ts';
import { principalOf } from './auth.ts';
import { isForThisMachine } from './own-hosts.ts';

const NUMBERS = {
  description: 'On loopback to anyone, else with a key.',
  content: { 'text/plain': { schema: z.string() } },
};

const NO_KEY = problems({ 401: 'No valid key, from another machine.' });

/** The numbers at `/metrics`: on loopback to anyone, else with a key. */
export function metricsRoutes(server: FastifyInstance, auth: Authenticator, metrics: Metrics): void {
  const schema = {
    tags: ['health'],
    summary: 'Numbers for Prometheus',
    response: { 200: NUMBERS, ...NO_KEY },
  };
  server.get('/metrics', { config: { open: true }, logLevel: 'warn', schema }, async (request, reply) => {
    if (!isOnThisMachine(request)) await principalOf(request, auth);
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics.text());
  });
}

/** A proxy is here, but who asks through it is not, whether or not it says so in the one header that is believed. */
function isOnThisMachine(request: FastifyRequest): boolean {
  const { socket, headers } = request;
  const passedOn = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in headers);
  const isHere = isLoopback(socket.remoteAddress?.replace(/^::ffff:/, '') ?? '');
  return isHere && !passedOn && isForThisMachine(request);
}
