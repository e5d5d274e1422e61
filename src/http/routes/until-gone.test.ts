import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { type TestServer, startHttp } from '../../../test/support/http.ts';
import { untilGone } from './until-gone.ts';
import type { Routes } from '../fastify-types.ts';

describe('who asked and left', () => {
  let http: TestServer;
  let waiting = Promise.withResolvers<void>();
  let ended = Promise.withResolvers<void>();

  const waits = (why: (signal: AbortSignal) => unknown) => async (_request: unknown, reply: FastifyReply) => {
    const signal = untilGone(reply);
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve());
      waiting.resolve();
    });
    ended.resolve();
    throw why(signal);
  };

  before(async () => {
    const routes: Routes = (server, _options, done) => {
      server.get(
        '/api/waits',
        waits((signal) => signal.reason),
      );
      server.get(
        '/api/breaks',
        waits(() => new Error('it broke')),
      );
      server.get('/api/other', () => ({}));
      done();
    };
    http = await startHttp(() => [routes]);
  });
  after(() => http.close());

  /** The errors in the log after a client asked for it and left. */
  async function errorsAfterLeaving(path: string): Promise<string[]> {
    [waiting, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gone = new AbortController();
    const headers = { 'x-session-api-key': http.key };
    const asked = fetch(http.url + path, { headers, signal: gone.signal }).catch(() => {});
    await waiting.promise;
    gone.abort();
    await Promise.all([asked, ended.promise]);
    await http.request('GET', '/api/other');
    return http.logged.splice(0).filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
  }

  it('ends what was done for them, and that is no error', async () => {
    assert.deepEqual(await errorsAfterLeaving('/api/waits'), []);
  });

  it('leaves what broke an error', async () => {
    const [error, ...more] = await errorsAfterLeaving('/api/breaks');
    assert.match(error ?? '', /it broke/);
    assert.deepEqual(more, []);
  });
});
