import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { selfSigned } from '../../../test/support/certificate.ts';
import { startGitServer } from '../../../test/support/git/git-server.ts';
import { guardedFetch } from '../../egress/guarded-fetch.ts';
import { NO_HOSTS } from '../../egress/host-list.ts';
import { sandboxPolicy, servicePolicy } from '../../egress/policy.ts';
import { Secret } from '../../secrets/secret.ts';
import { startGateway } from './gateway.ts';

const TOKEN = 'tok-0123456789-secret';
const REFS = 'acme/app.git/info/refs?service=git-upload-pack';
const trusted = selfSigned(['git.test']);
setDefaultCACertificates([...getCACertificates('default'), trusted.cert]);

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** What a program inside gets for the provider's address, rewritten to plain http as git does. */
async function ask(
  tls: { key: string; cert: string },
  host: string,
): Promise<{ status: number; body: string; requests: number }> {
  const server = await startGitServer({
    tls,
    repositories: { 'acme/app': {} },
    accounts: [{ token: TOKEN }],
  });
  open.push(() => server.close());
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'));
  open.push(() => rm(directory, { recursive: true, force: true }));
  const socketPath = join(directory, 'gateway.sock');
  const base = `https://${host}:${server.port}`;
  const gateway = await startGateway({
    socketPath,
    front: { base, repository: 'acme/app', credential: { username: 'git', token: new Secret(TOKEN) } },
    policy: sandboxPolicy({ allowHosts: NO_HOSTS }),
    frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
    resolve: async () => ['127.0.0.1'],
  });
  open.push(() => gateway.close());
  const asked = request({ socketPath, path: `http://${host}:${server.port}/${REFS}` });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: await text(answer), requests: server.requests.length };
}

describe('a provider on https', () => {
  it('is spoken to by TLS, for the name that its certificate has', async () => {
    const { status, body } = await ask(trusted, 'git.test');
    assert.equal(status, 200);
    assert.match(body, /refs\/heads\/main/);
  });

  it('gets no request, and so no token, when its certificate is for another name', async () => {
    const { status, body, requests } = await ask(trusted, 'other.test');
    assert.equal(requests, 0);
    assert.equal(status, 502);
    assert.match(body, /ERR_TLS_CERT_ALTNAME_INVALID/);
  });

  it('gets none when nobody trusted has signed its certificate', async () => {
    const { status, body, requests } = await ask(selfSigned(['git.test']), 'git.test');
    assert.equal(requests, 0);
    assert.equal(status, 502);
    assert.match(body, /SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/);
  });
});

describe('a guarded fetch by https', () => {
  it('checks the certificate for the name that was asked for', async () => {
    const server = await startGitServer({ tls: trusted, repositories: { 'acme/app': { public: true } } });
    open.push(() => server.close());
    const policy = servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS });
    const fetch = guardedFetch(policy, { resolve: async () => ['127.0.0.1'] });
    open.push(() => fetch.close());
    assert.equal((await fetch(`https://git.test:${server.port}/${REFS}`)).status, 200);
    await assert.rejects(fetch(`https://other.test:${server.port}/${REFS}`), (error: Error) =>
      String((error.cause as { code?: string }).code).includes('ALTNAME'),
    );
  });
});
