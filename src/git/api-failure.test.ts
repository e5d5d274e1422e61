import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Secret } from '../secrets/secret.ts';
import { connectionFailure, sentenceOf, statusFailure } from './api-failure.ts';
import type { ApiPlace } from './api-place.ts';

const withToken: ApiPlace = {
  name: 'Forge',
  root: 'https://git.example/api',
  token: new Secret('the-token'),
  authorization: new Secret('Bearer the-token'),
};
const withoutToken: ApiPlace = { ...withToken, token: null, authorization: null };

function judged(status: number, headers: Record<string, string> = {}, text = '', place = withToken) {
  return statusFailure(
    place,
    { status, headers: new Map(Object.entries(headers)), text },
    'the repository acme/app',
  );
}

function untilOf(headers: Record<string, string>): Date | null {
  const failure = judged(429, headers);
  assert.ok(failure?.kind === 'rate_limited');
  return failure.until;
}

describe('what a status means', () => {
  it('depends on whether there was a token', () => {
    for (const [status, asked, unasked] of [
      [200, undefined, undefined],
      [201, undefined, undefined],
      [301, 'not_found', 'not_found'],
      [401, 'refused', 'no_token'],
      [403, 'without_scope', 'no_token'],
      [404, 'not_found', 'not_found'],
      [409, 'rejected', 'rejected'],
      [410, 'not_found', 'not_found'],
      [422, 'rejected', 'rejected'],
      [429, 'rate_limited', 'rate_limited'],
      [418, 'unexpected', 'unexpected'],
      [500, 'unavailable', 'unavailable'],
    ] as const) {
      assert.equal(judged(status)?.kind, asked, String(status));
      assert.equal(judged(status, {}, '', withoutToken)?.kind, unasked, String(status));
    }
  });

  it('of 403 may be a limit', () => {
    assert.equal(judged(403, { 'x-ratelimit-remaining': '0' })?.kind, 'rate_limited');
    assert.equal(judged(403, { 'x-ratelimit-remaining': '7' })?.kind, 'without_scope');
    assert.equal(judged(403, { 'retry-after': '60' })?.kind, 'rate_limited');
  });

  it('of 401 is that the token has expired, where the provider says so', () => {
    const expired = (message: string) => judged(401, {}, JSON.stringify({ message }))?.kind;
    assert.equal(expired('Access token expired. Get another.'), 'expired');
    assert.equal(expired('The Personal Access Token used has expired.'), 'expired');
    assert.equal(expired('Token is invalid, expired, or not supported for this endpoint.'), 'refused');
  });

  it('is told with the host, what was asked, and what to do', () => {
    assert.match(judged(401)?.message ?? '', /git\.example refused the token.*store a valid one/);
    assert.match(judged(404)?.message ?? '', /no repository acme\/app: check the name/);
    assert.match(
      judged(301)?.message ?? '',
      /redirects who asks for .* \(301\): use its new name, or check the host/,
    );
  });
});

it('is told apart whether nobody answered or nobody could read what was answered', () => {
  const told = (code: string) => {
    const cause = Object.assign(new Error('no'), { code });
    return connectionFailure(withToken, 'git.example', new TypeError('fetch failed', { cause })).message;
  };
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT']) {
    assert.match(told(code), new RegExp(`^git\\.example can't be reached \\(${code}\\): check the host`));
  }
  for (const code of ['UND_ERR_SOCKET', 'UND_ERR_HEADERS_OVERFLOW']) {
    assert.match(told(code), new RegExp(`^git\\.example gave no answer that can be read \\(${code}\\)`));
  }
});

describe('the end of a limit', () => {
  it('is a second of the epoch, or so many seconds from now, or a date', () => {
    const soon = Math.floor(Date.now() / 1000) + 600;
    assert.equal(untilOf({ 'x-ratelimit-reset': String(soon) })?.getTime(), soon * 1000);
    assert.equal(untilOf({ 'ratelimit-reset': String(soon) })?.getTime(), soon * 1000);
    const date = new Date(soon * 1000);
    assert.equal(untilOf({ 'retry-after': date.toUTCString() })?.getTime(), date.getTime());
    const now = Date.now();
    const inTen = untilOf({ 'retry-after': '10' })?.getTime() ?? 0;
    assert.ok(inTen >= now + 10_000 && inTen <= Date.now() + 10_000);
  });

  it('is not believed to be further away than a day, nor to be what is no time', () => {
    const day = 24 * 60 * 60_000;
    for (const headers of [
      { 'x-ratelimit-reset': '99999999999' },
      { 'retry-after': '999999' },
      { 'retry-after': 'Fri, 01 Jan 9999 00:00:00 GMT' },
    ]) {
      assert.ok((untilOf(headers)?.getTime() ?? 0) <= Date.now() + day);
    }
    for (const value of ['', 'soon', '-1', '1e400', 'NaN']) {
      assert.equal(untilOf({ 'x-ratelimit-reset': value }), null, value);
    }
    for (const value of ['', 'soon', '-5', '1e3', 'in 5', 'Sat, 01 Jan 2000 00:00:00 GMT', 'Monday']) {
      assert.equal(untilOf({ 'retry-after': value }), null, value);
    }
    assert.equal(untilOf({ 'x-ratelimit-reset': '0' }), null);
  });
});

describe("the provider's own sentence", () => {
  it('is found where each has it, once', () => {
    assert.equal(sentenceOf('{"message":"Not Found"}'), 'Not Found');
    assert.equal(sentenceOf('{"message":["a","b"]}'), 'a; b');
    assert.equal(sentenceOf('{"type":"error","error":{"message":"No","detail":"x"}}'), 'No');
    const described = '{"error":"invalid_token","error_description":"Token is expired."}';
    assert.equal(sentenceOf(described), 'Token is expired.; invalid_token');
    const listed = '{"message":"Validation Failed","errors":[{"code":"custom","message":"It exists."}]}';
    assert.equal(sentenceOf(listed), 'Validation Failed; It exists.');
    for (const none of ['', '<html>', 'null', '7', '[]', '{}', '{"message":null}']) {
      assert.equal(sentenceOf(none), '', none);
    }
  });

  it('is one line of bounded length, whatever the provider says', () => {
    const long = sentenceOf(JSON.stringify({ message: `a\n\u001b[31m${'b'.repeat(10_000)}`, errors: {} }));
    assert.ok(long.length > 200 && long.length <= 300);
    assert.match(long, /^a \[31mb+$/);
    let deep: unknown = 'x';
    for (let n = 0; n < 1000; n += 1) deep = { message: deep };
    assert.equal(sentenceOf(JSON.stringify({ message: deep })), '');
  });
});
