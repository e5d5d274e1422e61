import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProviderName } from '../contract/providers.ts';
import { Secret } from '../secrets/secret.ts';
import { checkToken } from './check-token.ts';

interface Asked {
  url: string;
  authorization: string | null;
  redirect: string | undefined;
}

/** What is asked, and what comes of one answer. */
async function check(
  provider: ProviderName,
  answer: Response | Error,
  more: { host?: string; token?: string } = {},
) {
  const asked: Asked[] = [];
  const fake: typeof fetch = (input, init) => {
    const authorization = new Headers(init?.headers).get('authorization');
    asked.push({ url: new Request(input).url, authorization, redirect: init?.redirect });
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const token = new Secret(more.token ?? 'the-token');
  const result = await checkToken(
    { provider, host: more.host ?? '', token },
    fake,
    new AbortController().signal,
  );
  return { result, asked, url: asked[0]?.url, authorization: asked[0]?.authorization };
}

const json = (value: unknown) => Response.json(value);
const plain = (status: number) => new Response('no', { status });
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

const questions: [ProviderName, string, string, string, unknown][] = [
  ['github', '', 'https://api.github.com/user', 'Bearer the-token', { id: 1, login: 'ann' }],
  ['github', 'github.com', 'https://api.github.com/user', 'Bearer the-token', { id: 1, login: 'ann' }],
  ['github', 'ghe.example', 'https://ghe.example/api/v3/user', 'Bearer the-token', { id: 1, login: 'ann' }],
  ['gitlab', '', 'https://gitlab.com/api/v4/user', 'Bearer the-token', { id: 1, username: 'ann' }],
  ['gitlab', 'http://g:81/x', 'http://g:81/x/api/v4/user', 'Bearer the-token', { id: 1, username: 'ann' }],
  [
    'bitbucket',
    '',
    'https://api.bitbucket.org/2.0/user',
    'Bearer the-token',
    { uuid: '{1}', nickname: 'ann' },
  ],
  ['forgejo', '', 'https://codeberg.org/api/v1/user', 'token the-token', { id: 1, login: 'ann' }],
  [
    'azure_devops',
    'dev.azure.com/acme',
    'https://dev.azure.com/acme/_apis/connectionData',
    basic(':the-token'),
    { authenticatedUser: { id: '1', properties: { Account: { $value: 'ann' } } } },
  ],
];
for (const [provider, host, url, authorization, answer] of questions) {
  test(`${provider} at "${host}" is asked at ${url}, once, without following redirects`, async () => {
    const { result, asked } = await check(provider, json(answer), { host });
    assert.deepEqual(asked, [{ url, authorization, redirect: 'manual' }]);
    assert.deepEqual(result, { kind: 'verified', login: 'ann' });
  });
}

test('a Bitbucket token with a user name goes as Basic', async () => {
  const { authorization } = await check('bitbucket', json({ username: 'ann' }), { token: 'ann:password' });
  assert.equal(authorization, basic('ann:password'));
});

test('401 is a refusal; at Azure its sign-in page too', async () => {
  assert.equal((await check('github', plain(401))).result.kind, 'refused');
  const host = 'dev.azure.com/acme';
  assert.equal((await check('azure_devops', plain(203), { host })).result.kind, 'refused');
  assert.equal((await check('azure_devops', plain(302), { host })).result.kind, 'refused');
});

test('any other answer decides nothing, and says what it was', async () => {
  for (const answer of [
    plain(403),
    plain(302),
    plain(500),
    plain(200),
    json([]),
    json({}),
    json({ login: 7 }),
  ]) {
    const { result } = await check('github', answer);
    assert.equal(result.kind, 'unverified');
    assert.match(result.reason, /github\.com/);
  }
});

test('an endless answer is not read to its end', async () => {
  let chunks = 0;
  const endless = new ReadableStream({
    pull(controller) {
      chunks += 1;
      controller.enqueue(new Uint8Array(64 * 1024).fill(32));
    },
  });
  assert.equal((await check('github', new Response(endless))).result.kind, 'unverified');
  assert.ok(chunks < 100);
});

test('a host that is not there, or not allowed, is a reason without the token', async () => {
  const refused = Object.assign(new Error('ghe.lan (10.0.0.1) is a private address'), {
    name: 'EgressRefused',
  });
  const reasonOf = async (error: Error) => {
    const { result } = await check('github', error, { host: 'ghe.lan' });
    return result.kind === 'unverified' ? result.reason : result.kind;
  };
  assert.equal(await reasonOf(new TypeError('fetch failed', { cause: refused })), refused.message);
  const gone = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const todo = 'check the host that is stored with the token, and that it is up.';
  assert.equal(
    await reasonOf(new TypeError('the-token', { cause: gone })),
    `ghe.lan can't be reached (ECONNREFUSED): ${todo}`,
  );
  assert.equal(await reasonOf(new TypeError('the-token')), `ghe.lan can't be reached: ${todo}`);
});

test('who has no check is not asked', async () => {
  for (const [provider, host] of [
    ['enterprise_sso', ''],
    ['enterprise_sso', 'sso.example'],
    ['azure_devops', ''],
  ] as const) {
    const { result, asked } = await check(provider, plain(200), { host });
    assert.deepEqual([result.kind, asked], ['unverified', []]);
  }
});

test('it ends when whoever wants to know has gone', async () => {
  const gone = new AbortController();
  const hanging: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      gone.abort(new Error('gone'));
    });
  await assert.rejects(
    checkToken({ provider: 'github', host: '', token: new Secret('t') }, hanging, gone.signal),
    /gone/,
  );
});
