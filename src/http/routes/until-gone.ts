import type { FastifyReply } from 'fastify';

/** Aborted when whoever asked has gone before the answer was there. */
export function untilGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
