import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { mcpConfig } from '../contract/mcp.ts';
import { ServiceError } from '../errors.ts';
import { type TestServer, startHttp } from '../../test/support/http.ts';
import type { Routes } from './fastify-types.ts';

const body = z.strictObject({
  count: z.int().nullish(),
  mcp_config: mcpConfig.nullish(),
  kind: z.enum(['a', 'b']).nullish(),
});

const probe: Routes = (server, _options, done) => {
  server.get('/open', { config: { open: true } }, () => ({ open: true }));
  server.get('/api/me', (request) => request.principal);
  server.post('/api/things', { schema: { body } }, (request) => ({ got: request.body.count ?? null }));
  server.post('/api/no-body', () => ({ done: true }));
  server.get(
    '/api/things/:id',
    {
      schema: {
        params: z.object({ id: z.string() }),
        querystring: z.object({ sort: z.enum(['up', 'down']).optional() }),
      },
    },
    (request) => request.params,
  );
  server.get('/endless', { config: { open: true } }, (_request, reply) => {
    reply.hijack();
    reply.raw.write('so far');
  });
  server.get('/api/broken', () => {
    throw new Error('the password is hunter2');
  });
  server.get('/api/busy', () => {
    throw new ServiceError('queue_full', 'Too many wait.', { retryAfter: 1.2 });
  });
  const more = { seen: 'yes', hidden: 'inside' };
  server.get('/api/shaped', { schema: { response: { 200: z.object({ seen: z.string() }) } } }, () => more);
  done();
};

interface Problem {
  code: string;
  status: number;
  detail: string;
  message: string;
  type: string;
  title: string;
  request_id: string;
  errors?: { loc: (string | number)[]; msg: string; type: string }[];
}

describe('the HTTP server', () => {
  let http: TestServer;
  before(async () => {
    http = await startHttp(() => [probe]);
  });
  after(() => http.close());

  const problem = async (...request: Parameters<TestServer['request']>) => {
    const answer = await http.request(...request);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/);
    return { ...answer, problem: answer.json as Problem };
  };
  const locs = (p: Problem) => p.errors?.map(({ loc }) => loc.join('.'));

  test('an open route needs no key', async () => {
    const answer = await http.request('GET', '/open', { key: null });
    assert.deepEqual([answer.status, answer.json], [200, { open: true }]);
  });

  test('a route that is not open needs a key, in the header or as bearer', async () => {
    const none = await problem('GET', '/api/me', { key: null });
    assert.deepEqual([none.status, none.problem.code], [401, 'unauthorized']);
    assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer/);
    const wrong = await problem('GET', '/api/me', { key: 'parley_wrong' });
    assert.equal(wrong.status, 401);
    const header = await http.request('GET', '/api/me');
    const bearer = await http.request('GET', '/api/me', {
      key: null,
      headers: { authorization: `Bearer ${http.key}` },
    });
    assert.equal(header.status, 200);
    assert.deepEqual(bearer.json, header.json);
    assert.equal((header.json as { userName: string }).userName, 'default');
  });

  test('without a key nothing is learned: the body is not looked at, and no path under /api is told apart', async () => {
    const malformed = await problem('POST', '/api/things', { key: null, body: '{' });
    const unknown = await problem('GET', '/api/nowhere', { key: null });
    const elsewhere = await problem('GET', '/nowhere', { key: null });
    assert.deepEqual([malformed.status, unknown.status, elsewhere.status], [401, 401, 404]);
  });

  test('an error has every member of RFC 9457 and those that clients of V0 read', async () => {
    const { problem: p, headers, status } = await problem('GET', '/api/nowhere');
    assert.equal(status, 404);
    assert.deepEqual(p, {
      type: '/docs/errors#not_found',
      title: 'No such route',
      status: 404,
      detail: p.detail,
      code: 'not_found',
      message: p.detail,
      request_id: headers.get('x-request-id'),
    });
  });

  test('a path that has other methods answers 405 and names them', async () => {
    const { status, headers } = await problem('DELETE', '/api/things/7');
    assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD']);
    assert.equal((await problem('PUT', '/api/things')).headers.get('allow'), 'POST');
  });

  test('a path that is no URL is as unknown as any other', async () => {
    const { status, problem: p, headers } = await problem('GET', '/%zz?a=%ff');
    assert.deepEqual([status, p.code], [404, 'not_found']);
    assert.equal(headers.get('x-request-id'), p.request_id);
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    assert.equal((await problem('GET', '/api/%ff', { key: null })).status, 401);
    const named = await http.request('GET', '/api/things/%ff%20');
    assert.deepEqual([named.status, named.json], [200, { id: '%ff%20' }]);
  });

  test('a name in a path may be as long as a path: it is looked up like any other, with a key', async () => {
    const path = `/api/things/${'a'.repeat(9_000)}`;
    assert.equal((await problem('GET', path, { key: null })).status, 401);
    assert.equal((await http.request('GET', path)).status, 200);
  });

  test('HEAD answers as GET does, without a body', async () => {
    const { status, text } = await http.request('HEAD', '/open');
    assert.deepEqual([status, text], [200, '']);
  });

  test('a rejected body names every offending member and repeats no value', async () => {
    const {
      status,
      problem: p,
      text,
    } = await problem('POST', '/api/things', {
      body: {
        count: '12',
        kind: 'hunter2',
        extra: 'hunter2',
        other: 1,
        mcp_config: {
          stdio_servers: [{ name: 'a b', command: 'x', env: { 'no good': 'hunter2' } }, { command: 7 }],
          sse_servers: ['not a url hunter2', { url: 'https://a.example', api_key: 5 }, 7],
        },
      },
    });
    assert.deepEqual([status, p.code], [422, 'invalid_request']);
    assert.deepEqual(locs(p)?.sort(), [
      'body.count',
      'body.extra',
      'body.kind',
      'body.mcp_config.sse_servers.0',
      'body.mcp_config.sse_servers.1.api_key',
      'body.mcp_config.sse_servers.2',
      'body.mcp_config.stdio_servers.0.env.no good',
      'body.mcp_config.stdio_servers.0.name',
      'body.mcp_config.stdio_servers.1.command',
      'body.mcp_config.stdio_servers.1.name',
      'body.other',
    ]);
    const of = (loc: string) => p.errors?.find((error) => error.loc.join('.') === loc);
    assert.deepEqual(of('body.extra'), {
      loc: ['body', 'extra'],
      msg: 'is not a known member',
      type: 'extra_forbidden',
    });
    assert.equal(of('body.mcp_config.stdio_servers.1.name')?.type, 'missing');
    assert.equal(of('body.mcp_config.sse_servers.2')?.msg, 'must be an object or a string, not a number');
    assert.equal(of('body.count')?.msg, 'must be a number, not a string');
    assert.ok(!text.includes('hunter2'));
  });

  test('a server that stands twice is named by its place, its address is not repeated', async () => {
    const url = 'https://mcp.example/sse?token=hunter2';
    const { problem: p, text } = await problem('POST', '/api/things', {
      body: { mcp_config: { shttp_servers: [url, { url }] } },
    });
    assert.deepEqual(locs(p), ['body.mcp_config.shttp_servers.1.url']);
    assert.ok(!text.includes('hunter2'));
  });

  test('query and path are validated as the body is', async () => {
    const { problem: p } = await problem('GET', '/api/things/7?sort=sideways');
    assert.deepEqual(p.errors, [
      { loc: ['query', 'sort'], msg: 'must be one of "up", "down"', type: 'not_allowed' },
    ]);
  });

  test('malformed JSON is a 422 of the body that repeats nothing of it', async () => {
    for (const text of ['{"llm_api_key": "hunter2", x}', '', '[', 'hunter2', '{"a":1}}']) {
      const { status, problem: p, text: answer } = await problem('POST', '/api/things', { body: text });
      assert.deepEqual([status, p.errors?.[0]?.loc], [422, ['body']], text);
      assert.ok(!answer.includes('hunter2'));
    }
    const latin1 = await fetch(`${http.url}/api/things`, {
      method: 'POST',
      headers: { 'x-session-api-key': http.key, 'content-type': 'application/json' },
      body: Buffer.from('{"x":"\xe9"}', 'latin1'),
    });
    assert.equal(latin1.status, 422);
  });

  test('__proto__ and deep nesting are refused before anything walks them', async () => {
    const poisoned = await problem('POST', '/api/things', {
      body: '{"mcp_config":{"__proto__":{"count":1}}}',
    });
    assert.deepEqual(locs(poisoned.problem), ['body.mcp_config.__proto__']);
    const inLists = await problem('POST', '/api/things', {
      body: '{"x":[0,[{"__proto__":1}]],"__proto__":{}}',
    });
    assert.deepEqual(locs(inLists.problem), ['body.x.1.0.__proto__', 'body.__proto__']);
    const deep = await problem('POST', '/api/things', { body: '['.repeat(200_000) + ']'.repeat(200_000) });
    assert.deepEqual([deep.status, deep.problem.errors?.[0]?.type], [422, 'json_invalid']);
  });

  test('a body that is not JSON is 415, one that is too large 413', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const answer = await problem('POST', '/api/things', { body: 'a=1', headers: { 'content-type': type } });
      assert.deepEqual([answer.status, answer.problem.code], [415, 'unsupported_media_type']);
    }
    const large = await problem('POST', '/api/things', {
      body: JSON.stringify({ x: 'a'.repeat(1024 * 1024) }),
    });
    assert.deepEqual([large.status, large.problem.code], [413, 'body_too_large']);
  });

  test('a route without a body takes a POST with none, with or without a content type', async () => {
    const bare = await http.request('POST', '/api/no-body');
    const typed = await http.request('POST', '/api/no-body', {
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual([bare.status, typed.status], [200, 200]);
    const needed = await problem('POST', '/api/things');
    assert.deepEqual(needed.problem.errors, [{ loc: ['body'], msg: 'is required', type: 'missing' }]);
  });

  test('an unexpected failure tells nothing of its inside; the log has it under the request id', async () => {
    const { status, problem: p, text } = await problem('GET', '/api/broken');
    assert.deepEqual([status, p.code], [500, 'internal']);
    assert.ok(!text.includes('hunter2'));
    assert.ok(http.logged.some((line) => line.includes('hunter2') && line.includes(p.request_id)));
  });

  test('Retry-After is in whole seconds, rounded up', async () => {
    const { status, headers } = await problem('GET', '/api/busy');
    assert.deepEqual([status, headers.get('retry-after')], [429, '2']);
  });

  test('an answer has only the members of its schema', async () => {
    assert.deepEqual((await http.request('GET', '/api/shaped')).json, { seen: 'yes' });
  });

  test('no answer is kept, framed or guessed at', async () => {
    for (const path of ['/open', '/api/me', '/nowhere']) {
      const { headers } = await http.request('GET', path);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
    }
  });

  test('the log has the route, not the path with its query, and no key', async () => {
    await http.request('GET', '/api/things/7?sort=up&token=hunter3');
    const line = http.logged
      .map((text) => JSON.parse(text))
      .findLast((entry) => entry.route === '/api/things/:id');
    assert.deepEqual([line.method, line.status], ['GET', 200]);
    assert.ok(!http.logged.some((text) => text.includes('hunter3') || text.includes(http.key)));
  });

  test('bytes that are no request are answered as a problem, and the connection ends', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(http.url).port) });
    socket.write('nonsense\r\n\r\n');
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /application\/problem\+json[^]*"malformed_http"/);
    const id = /^x-request-id: (.+)\r$/m.exec(answer)?.[1] ?? 'none';
    assert.ok(answer.includes(`"request_id":"${id}"`), 'as every answer has it');
    assert.match(answer, /^x-content-type-options: nosniff\r$/m);
  });

  test('bytes that are no request, sent while an answer is, end the connection and are not answered within it', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(http.url).port) });
    socket.write(
      'GET /open HTTP/1.1\r\nhost: localhost\r\n\r\nGET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n',
    );
    let answer = '';
    for await (const chunk of socket) {
      answer += String(chunk);
      if (answer.endsWith('so far\r\n')) socket.write('nonsense\r\n\r\n');
    }
    assert.match(answer, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 200 [^]*so far\r\n$/);
    socket.destroy();

    const next = connect({ host: '127.0.0.1', port: Number(new URL(http.url).port) });
    next.write('GET /open HTTP/1.1\r\nhost: localhost\r\n\r\n');
    answer = '';
    for await (const chunk of next) {
      answer += String(chunk);
      if (answer.endsWith('{"open":true}')) next.write('nonsense\r\n\r\n');
    }
    assert.match(answer, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 400 [^]*"malformed_http"/, 'after one it is');
  });

  test('a request without a Host is refused by a problem; an unknown expectation is passed over', async () => {
    const say = async (headers: string): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(http.url).port) });
      socket.write(`GET /open HTTP/1.1\r\nconnection: close\r\n${headers}\r\n`);
      let answer = '';
      for await (const chunk of socket) answer += String(chunk);
      return answer;
    };
    assert.match(await say(''), /^HTTP\/1\.1 400 [^]*"malformed_http"/);
    assert.match(await say('host: localhost\r\nexpect: wonders\r\n'), /^HTTP\/1\.1 200 /);
  });

  test('a revoked key, an expired key and a disabled user count no more at once', async () => {
    const status = async (key: string) => (await http.request('GET', '/api/me', { key })).status;
    const bob = await http.addUser('bob');
    assert.equal(await status(bob.key), 200);
    const [row] = await http.storage.read.keys.listKeys(bob.userId);
    await http.storage.transact(({ keys }) => keys.disableUser(bob.userId, new Date().toISOString()));
    assert.equal(await status(bob.key), 401);
    await http.storage.transact(({ keys }) => keys.disableUser(bob.userId, null));
    assert.equal(await status(bob.key), 200);
    await http.storage.transact(({ keys }) => keys.revokeKey(row?.id ?? '', new Date().toISOString()));
    assert.match((await problem('GET', '/api/me', { key: bob.key })).problem.detail, /revoked/);
  });
});

test('over its rate a key gets 429 with Retry-After; other keys and open routes do not', async () => {
  const http = await startHttp(() => [probe], { rateLimit: 1 });
  try {
    const answers = await Promise.all(Array.from({ length: 30 }, () => http.request('GET', '/api/me')));
    const limited = answers.find(({ status }) => status === 429);
    assert.equal((limited?.json as Problem | undefined)?.code, 'rate_limited');
    assert.equal(limited?.headers.get('retry-after'), '1');
    const { key } = await http.addUser('bob');
    assert.equal((await http.request('GET', '/api/me', { key })).status, 200);
    assert.equal((await http.request('GET', '/open')).status, 200);
  } finally {
    await http.close();
  }
});

test('only listed origins may read answers; a preflight needs no key', async () => {
  const http = await startHttp(() => [probe], { corsOrigins: ['https://page.example'] });
  try {
    const preflight = await http.request('OPTIONS', '/api/things', {
      key: null,
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /PATCH/);
    const asked = 'x-session-api-key,x-requested-with';
    const more = await http.request('OPTIONS', '/api/things', {
      key: null,
      headers: {
        origin: 'https://page.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': asked,
      },
    });
    assert.equal(more.headers.get('access-control-allow-headers'), asked);
    const refused = await http.request('GET', '/api/me', {
      key: null,
      headers: { origin: 'https://page.example' },
    });
    assert.equal(refused.headers.get('access-control-allow-origin'), 'https://page.example');
    const stranger = await http.request('GET', '/api/me', { headers: { origin: 'https://evil.example' } });
    assert.equal(stranger.headers.get('access-control-allow-origin'), null);
    assert.equal(stranger.headers.get('vary'), 'Origin');
  } finally {
    await http.close();
  }
});

for (const corsOrigins of [[], ['https://page.example']]) {
  test(`with ${corsOrigins.length} origins listed, whoever runs the service is told once which other one asked`, async () => {
    const http = await startHttp(() => [probe], { corsOrigins });
    const preflight = (origin: string) =>
      http.request('OPTIONS', '/api/things', {
        key: null,
        headers: { origin, 'access-control-request-method': 'POST' },
      });
    try {
      const refused = await preflight('https://other.example');
      assert.deepEqual([refused.status, (refused.json as Problem).code], [403, 'origin_refused']);
      assert.match((refused.json as Problem).detail, /https:\/\/other\.example.*PERMITTED_CORS_ORIGINS/);
      assert.equal(refused.headers.get('access-control-allow-origin'), null);
      await preflight('https://other.example');
      for (let n = 0; n < 50; n += 1) await preflight(`https://${n}.example`);
      const told = http.logged.filter((line) => line.includes('PERMITTED_CORS_ORIGINS'));
      assert.equal(told.filter((line) => line.includes('other.example')).length, 1);
      assert.equal(told.length, 20, 'and no page can fill the log with others');
    } finally {
      await http.close();
    }
  });
}
