import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GitFront } from './git-front.ts';
import { gitRoute, type GitRoute } from './git-route.ts';
import { absoluteTarget } from './target.ts';
import { fc } from '../../../test/support/samples.ts';

const front: GitFront = { base: 'https://git.example/forge', repository: 'acme/app', credential: null };
const HOST = 'http://git.example';

/** As the gateway asks: what it can't read as a target never comes to the route. */
function route(method: string, raw: string, of: GitFront = front): GitRoute | 'unreadable' {
  const target = absoluteTarget(raw);
  return target.ok ? gitRoute(of, method, target.url, raw) : 'unreadable';
}

const allowed: [string, string][] = [
  ['GET', 'info/refs?service=git-upload-pack'],
  ['GET', 'info/refs?service=git-receive-pack'],
  ['POST', 'git-upload-pack'],
  ['POST', 'git-receive-pack'],
  ['POST', 'info/lfs/objects/batch'],
  ['GET', 'info/lfs/locks?path=a%20b&limit=5'],
  ['POST', 'info/lfs/locks'],
  ['POST', 'info/lfs/locks/verify'],
  ['POST', 'info/lfs/locks/12/unlock'],
];

describe('the token goes along', () => {
  for (const [method, rest] of allowed) {
    for (const name of ['acme/app', 'acme/app.git', 'ACME/App.git']) {
      it(`with ${method} ${name}/${rest}`, () => {
        const found = route(method, `${HOST}/forge/${name}/${rest}`);
        const spelled = name.endsWith('.git') ? 'acme/app.git' : 'acme/app';
        assert.ok(found !== 'unreadable' && found.to === 'repository');
        assert.equal(found.path, `/forge/${spelled}/${rest}`);
      });
    }
  }

  const refused: [string, string][] = [
    ['GET', '/forge/acme/app'],
    ['GET', '/forge/acme/app.git'],
    ['GET', '/forge/acme/app.git/HEAD'],
    ['GET', '/forge/acme/app.git/objects/info/packs'],
    ['GET', '/forge/acme/app.git/info/refs'],
    ['GET', '/forge/acme/app.git/info/refs?service=git-upload-archive'],
    ['GET', '/forge/acme/app.git/info/refs?service=git-upload-pack&x=1'],
    ['GET', '/forge/acme/app.git/info/refs?x=1&service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/info/refs?service=git-upload-pack#x'],
    ['POST', '/forge/acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/git-upload-pack'],
    ['PUT', '/forge/acme/app.git/git-receive-pack'],
    ['POST', '/forge/acme/app.git/git-receive-pack?x=1'],
    ['POST', '/forge/acme/app.git/git-upload-archive'],
    ['DELETE', '/forge/acme/app.git/info/lfs/locks/1'],
    ['GET', '/forge/acme/app.git/info/lfs'],
    ['GET', '/forge/acme/app.git/info/lfs/'],
    ['GET', '/forge/acme/app.git/info/lfs/objects/0123'],
    ['GET', '/forge/acme/app.git/info/lfs/parley/a/b'],
    ['GET', '/forge/acme/app.git/../other.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/../../acme/other.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/%2e%2e/other.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/%2E./other.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/..%2fother.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme%2fapp.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app%00.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git%3f/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme\\app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git\\..\\other.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge//acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '//forge/acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme//app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/./acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/./info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/info/refs/?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git;x/info/refs?service=git-upload-pack'],
    ['GET', '/forge/acme/app.git/info/refs;x?service=git-upload-pack'],
    ['GET', '/forge/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/FORGE/acme/app.git/info/refs?service=git-upload-pack'],
    ['GET', '/forge/api/v1/repos/acme/app'],
    ['GET', '/forge/acme/app/settings/keys'],
    ['POST', '/forge/acme/other.git/git-receive-pack'],
    ['GET', '/forge/acme/other.git/info/refs?service=git-receive-pack'],
    ['GET', '/forge'],
    ['GET', '/'],
    ['GET', ''],
  ];
  for (const [method, path] of refused) {
    it(`never with ${method} ${path}`, () => {
      const found = route(method, `${HOST}${path}`);
      assert.ok(found === 'unreadable' || found.to === 'nowhere', JSON.stringify(found));
    });
  }

  const others = [
    'acme/other',
    'acme/app2',
    'acme/app.git.git',
    'acme/ap',
    'acme/app/sub',
    'x/acme/app',
    'acme/app~1',
  ];
  for (const name of others) {
    it(`not with the neighbour ${name}, which may be read without it`, () => {
      const found = route('GET', `${HOST}/forge/${name}.git/info/refs?service=git-upload-pack`);
      assert.deepEqual(found, {
        to: 'other',
        repository: name,
        path: `/forge/${name}.git/info/refs?service=git-upload-pack`,
        withToken: false,
      });
    });
  }

  const elsewhere = [
    'http://git.example.:80/forge/acme/app.git/info/refs?service=git-upload-pack',
    'http://git.example:8080/forge/acme/app.git/info/refs?service=git-upload-pack',
    'http://xgit.example/forge/acme/app.git/info/refs?service=git-upload-pack',
    'http://git.example.evil.test/forge/acme/app.git/info/refs?service=git-upload-pack',
  ];
  for (const url of elsewhere) {
    it(`not to ${url}`, () => assert.deepEqual(route('GET', url), { to: 'elsewhere' }));
  }

  it('only below its own repository, whatever the path is made of', () => {
    const plain =
      'acme app app.git other forge info refs lfs locks objects batch git-upload-pack git-receive-pack';
    const odd = '.. . %2e%2e %2f \\ ; ? # @ APP .git';
    const piece = fc.constantFrom('', ...plain.split(' '), ...odd.split(' '));
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE');
    const query = fc.constantFrom('', '?service=git-upload-pack', '?service=git-receive-pack', '?x');
    fc.assert(
      fc.property(method, fc.array(piece, { maxLength: 8 }), query, (verb, pieces, search) => {
        const found = route(verb, `${HOST}/forge/acme/${pieces.join('/')}${search}`);
        if (found === 'unreadable' || found.to !== 'repository') return;
        assert.match(
          found.path,
          /^\/forge\/acme\/app(\.git)?\/(info\/(refs\?service=git-|lfs\/)|git-)[A-Za-z/?-]*$/,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('to a provider on loopback by the name that stands for it inside', () => {
    const local: GitFront = { ...front, base: 'http://127.0.0.1:3001' };
    const path = 'acme/app.git/info/refs?service=git-upload-pack';
    assert.deepEqual(route('GET', `http://git-host.internal:3001/${path}`, local), {
      to: 'repository',
      path: `/${path}`,
      lfsBatch: false,
    });
    assert.deepEqual(route('GET', `http://127.0.0.1:3001/${path}`, local), { to: 'elsewhere' });
  });
});
