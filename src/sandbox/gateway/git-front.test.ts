import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secret } from '../../secrets/secret.ts';
import { gitFrontConfig, type GitFront } from './git-front.ts';

function config(base: string): string {
  const credential = { username: 'ann', token: new Secret('tok-0123456789') };
  const front: GitFront = { base, repository: 'acme/app', credential };
  return gitFrontConfig(front);
}

const COMMON = '[http]\n\tproxy = http://127.0.0.1:3128\n[credential]\n\thelper =\n';

it('git asks the proxy, and nobody for a password', () => assert.equal(gitFrontConfig(null), COMMON));

it('every spelling of the provider leads to the gateway by plain http', () => {
  assert.equal(
    config('https://git.example'),
    `${COMMON}[url "http://git.example/"]
\tinsteadOf = https://git.example/
\tinsteadOf = git@git.example:
\tinsteadOf = ssh://git@git.example/
\tinsteadOf = git://git.example/
`,
  );
});

it('a provider on plain http keeps its address', () => {
  const text = config('http://git.local:3001/forge');
  assert.match(text, /\[url "http:\/\/git\.local:3001\/forge\/"\]\n\tinsteadOf = git@git\.local:forge\/\n/);
});

it('a provider on loopback gets a name that programs ask a proxy for', () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    const text = config(`http://${host}:3001`);
    assert.ok(
      text.includes(`[url "http://git-host.internal:3001/"]\n\tinsteadOf = http://${host}:3001/\n`),
      text,
    );
  }
});

it('the token is not in it', () => assert.ok(!config('https://git.example').includes('tok-')));
