import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LfsActions } from './lfs-actions.ts';

const UNDER = 'http://git.example/acme/app/info/lfs/parley';
const ORIGIN = 'https://git.example';

interface Shown {
  objects: {
    authenticated?: boolean;
    actions?: Record<string, { href: string; header?: Record<string, string> }>;
  }[];
}

/** What the sandbox sees of an answer with one action, and what the gateway keeps of it. */
function shown(href: string, header?: Record<string, string>) {
  const actions = new LfsActions();
  const body = {
    transfer: 'basic',
    objects: [{ oid: 'a', size: 1, actions: { download: { href, header, expires_in: 9 } } }],
  };
  const text = actions.rewrite(JSON.stringify(body), UNDER, ORIGIN);
  assert.ok(text !== null);
  const parsed = JSON.parse(text) as Shown;
  const seen = parsed.objects[0]?.actions?.['download'];
  assert.ok(seen);
  return { text, seen, object: parsed.objects[0], kept: actions.find(seen.href.slice(UNDER.length + 1)) };
}

it('an address at the provider becomes one of the gateway', () => {
  const { seen, kept, object } = shown(`${ORIGIN}/acme/app.git/info/lfs/objects/a`);
  assert.match(seen.href, /^http:\/\/git\.example\/acme\/app\/info\/lfs\/parley\/[A-Za-z0-9_-]{24}$/);
  assert.equal(kept?.href.href, `${ORIGIN}/acme/app.git/info/lfs/objects/a`);
  assert.equal(object?.authenticated, true);
});

it('a header that its host wants stays with the gateway, wherever the file lies', () => {
  const header = {
    Authorization: 'RemoteAuth abc',
    'X-Key': 'def',
    'Content-Type': 'x/y',
    'Transfer-Encoding': 'chunked',
  };
  const { text, seen, kept } = shown('https://lfs.example/verify', header);
  assert.doesNotMatch(text, /RemoteAuth|def|lfs\.example/);
  assert.deepEqual(seen.header, { 'Content-Type': 'x/y', 'Transfer-Encoding': 'chunked' });
  assert.deepEqual(kept, { href: new URL('https://lfs.example/verify'), headers: header });
});

it('a signed address elsewhere, which needs no header, is used from inside', () => {
  const { seen, kept } = shown('https://bucket.example/a?signature=b', { 'Content-Type': 'x/y' });
  assert.equal(seen.href, 'https://bucket.example/a?signature=b');
  assert.equal(kept, null);
});

it('files without actions and other members pass unchanged', () => {
  const body = {
    transfer: 'basic',
    hash_algo: 'sha256',
    objects: [{ oid: 'a', size: 1, error: { code: 404, message: 'no' } }],
  };
  assert.deepEqual(JSON.parse(new LfsActions().rewrite(JSON.stringify(body), UNDER, ORIGIN) ?? ''), body);
});

for (const body of [
  '',
  '[]',
  '<html>',
  '{"objects":{}}',
  '{"objects":[{"actions":{"download":{"href":"file:///x"}}}]}',
]) {
  it(`${body || 'nothing'} is no answer`, () =>
    assert.equal(new LfsActions().rewrite(body, UNDER, ORIGIN), null));
}

it('an address that was not given out is not known', () => assert.equal(new LfsActions().find('a'), null));
