import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startGitServer } from '../../../test/support/git/git-server.ts';
import { NO_HOSTS } from '../../egress/host-list.ts';
import { sandboxPolicy, servicePolicy } from '../../egress/policy.ts';
import { Secret } from '../../secrets/secret.ts';
import { run, startBench } from '../../../test/support/bubblewrap.ts';
import { startGateway } from './gateway.ts';
import { gitFrontConfig, type GitFront } from './git-front.ts';

const TOKEN = 'tok-0123456789-secret';

describe('a real sandbox behind the gateway', () => {
  it('clones and pushes its repository, finds no token, and gets nowhere else on this machine', async () => {
    await using server = await startGitServer({
      repositories: { 'acme/app': { files: { 'a.txt': 'a\n' } }, 'acme/other': {} },
      accounts: [{ token: TOKEN }],
    });
    await using bench = await startBench({
      startGateway: (socketPath, front) =>
        startGateway({
          socketPath,
          front,
          policy: sandboxPolicy({ allowHosts: NO_HOSTS }),
          frontPolicy: servicePolicy({ privateAllowed: () => true, allowPrivateHosts: NO_HOSTS }),
        }),
      gitConfig: gitFrontConfig,
    });
    const token = new Secret(TOKEN);
    const git: GitFront = {
      base: server.base,
      repository: 'acme/app',
      credential: { username: 'git', token },
    };
    const sandbox = await bench.open(1, { git });
    const ok = async (command: string) => {
      const outcome = await run(sandbox, command);
      assert.equal(outcome.exitCode, 0, `${command}: ${outcome.output}`);
      return outcome.output;
    };
    const fails = async (command: string) => {
      const outcome = await run(sandbox, command);
      assert.notEqual(outcome.exitCode, 0, `${command}: ${outcome.output}`);
      return outcome.output;
    };

    await ok(`git clone -q ${server.cloneUrl('acme/app')} app && cd app && git checkout -q -b work`);
    await ok('echo b >b.txt && git add -A && git commit -q -m "Add b" && git push -q -u origin work');
    assert.equal(await server.fileAt('acme/app', 'work', 'b.txt'), 'b\n');
    assert.match((await server.commitOf('acme/app', 'work'))?.author ?? '', /^Ann /);

    assert.match(
      await fails(`git clone ${server.cloneUrl('acme/other')} /tmp/other`),
      /acme\/app only, not acme\/other/,
    );
    // Written so that neither the search nor the planted text is found where the command itself stands.
    const basic = Buffer.from(`git:${TOKEN}`).toString('base64');
    const pattern = [TOKEN, basic]
      .map((text) => `${text.slice(0, 9)}[${text[9]}]${text.slice(10)}`)
      .join('|');
    await ok(`printf %s%s ${TOKEN.slice(0, 9)} ${TOKEN.slice(9)} >/tmp/planted`);
    const places = '/workspace /home /tmp /run /etc /proc/[0-9]*/environ /proc/[0-9]*/cmdline';
    const found = await run(sandbox, `grep -rlaE -D skip '${pattern}' ${places} 2>/dev/null`);
    assert.equal(found.output, '/tmp/planted\n');

    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', 'git-host.internal']) {
      const url = `http://${host}:${server.port}/acme/other.git/info/refs?service=git-upload-pack`;
      await fails(`curl -sf -m 10 '${url}'`);
      await fails(`curl -sf -m 10 --noproxy '' '${url}'`);
      await fails(`curl -sf -m 10 --noproxy '' -p '${url}'`);
    }
    assert.match(await ok("curl -s --noproxy '' http://169.254.169.254/"), /^gateway: .*link-local/);
    await sandbox.close();
    assert.ok(server.requests.every(({ url, headers }) => !url.includes('other') || !headers.authorization));
  });
});
