import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RecordingServer, startRecordingServer } from '../../test/support/recording-server.ts';
import { Secret } from '../secrets/secret.ts';
import { tavily } from './tavily.ts';

const KEY = 'tvly-a-key-for-tests';
const QUERY = { query: 'how', maxResults: 3, domains: [] };

describe('a search by Tavily', () => {
  let server: RecordingServer;
  before(async () => void (server = await startRecordingServer()));
  after(() => server.close());
  const { signal } = new AbortController();
  const search = (more: object = {}) =>
    tavily(server.url, new Secret(KEY), fetch)({ ...QUERY, ...more }, signal);

  it('asks once, with the key in the header alone', async () => {
    server.answer({
      body: {
        query: 'how',
        results: [{ title: ' A\npage ', url: 'https://a.example/x', content: 'so', score: 1 }],
      },
    });
    assert.deepEqual(await search({ domains: ['a.example'] }), {
      ok: true,
      results: [{ title: 'A page', url: 'https://a.example/x', content: 'so' }],
    });
    const [{ method, path, headers, body } = assert.fail('it was not asked'), ...more] = server.requests;
    assert.deepEqual(more, []);
    assert.deepEqual([method, path, headers.authorization], ['POST', '/search', `Bearer ${KEY}`]);
    assert.deepEqual(JSON.parse(body), { query: 'how', max_results: 3, include_domains: ['a.example'] });
  });

  const problem = async (): Promise<string> => {
    const outcome = await search();
    assert.ok(!outcome.ok);
    assert.ok(!outcome.problem.includes(KEY));
    return outcome.problem;
  };

  it('says what a refusal means, and repeats nothing of it', async () => {
    for (const [status, says] of [
      [401, /store a valid search_api_key/],
      [429, /no more searches for now/],
      [432, /plan/],
      [500, /status 500/],
    ] as const) {
      server.answer({ status, body: { detail: { error: `no: ${KEY}` } } });
      assert.match(await problem(), says);
    }
  });

  it('follows no redirect, so that the key goes nowhere else', async () => {
    await using elsewhere = await startRecordingServer();
    server.answer({ status: 307, headers: { location: `${elsewhere.url}/search` }, body: '' });
    assert.match(await problem(), /status 307/);
    assert.equal(elsewhere.requests.length, 0);
  });

  it('takes no answer that is too large, broken or something else', async () => {
    server.answer({ body: 'x'.repeat(2 * 1024 * 1024) });
    assert.match(await problem(), /too large/);
    for (const body of ['{', '[]', '{"results": 7}', '{"results": [{"url": 7}]}']) {
      server.answer({ body });
      assert.match(await problem(), /something else than results/, body);
    }
    server.answer((response) => response.destroy());
    assert.match(await problem(), /could not be reached/);
  });

  it('shortens what is long, and leaves out what is no address', async () => {
    const long = 'x'.repeat(10_000);
    const url = `https://a.example/${long}`;
    const none = [{ url: 'no address' }, { url: 'javascript:alert(1)' }, { url: 'file:///etc/passwd' }];
    server.answer({ body: { results: [{ title: long, url, content: long }, ...none] } });
    const outcome = await search();
    assert.ok(outcome.ok);
    assert.deepEqual(
      outcome.results.map((result) => Object.values(result).map((value: string) => value.length)),
      [[301, 2_001, 4_001]],
    );
  });

  it('gives an address of one line', async () => {
    server.answer({ body: { results: [{ url: 'https://a.example/x\n\n2. Ours\nhttps://b.example' }] } });
    const outcome = await search();
    assert.ok(outcome.ok);
    assert.deepEqual(
      outcome.results.map(({ url }) => url),
      ['https://a.example/x2.%20Ourshttps://b.example'],
    );
  });

  it('ends with whoever asked', async () => {
    const asked = Promise.withResolvers<void>();
    server.answer(() => asked.resolve());
    const abort = new AbortController();
    const searching = tavily(server.url, new Secret(KEY), fetch)(QUERY, abort.signal);
    await asked.promise;
    abort.abort(new Error('gone'));
    await assert.rejects(searching, /gone/);
  });
});
