import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { isObservation } from '../../src/events/event.ts';
import { startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { call, say } from '../support/model/answers.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeGitToken, storeModel } from '../support/stored.ts';

/** What a conversation's command printed, and how it ended. */
interface Ran {
  code: number;
  output: string;
}

describe('commands that try to get out', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  let port: string;

  before(async () => {
    forge = await startForge({
      'acme/app': { files: { 'a.txt': 'mine\n' } },
      'acme/other': { files: { 'secret.txt': 'not mine\n' } },
    });
    model = await startModelServer();
    parley = await startParley();
    ({ port } = new URL(parley.url));
    await storeModel(parley, model);
    await storeGitToken(parley, forge);
    await run('victim', 'echo private > /workspace/private.txt', { repository: 'acme/app' });
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  /** Runs one command in a conversation, which is made when it is not there. */
  async function run(id: string, command: string, more: object = {}): Promise<Ran> {
    model.play([call('execute_bash', { command }), say('done')]);
    const known = await parley.request('GET', `/api/conversations/${id}`);
    const seen = known.status === 200 ? (await parley.events(id)).length : 0;
    if (known.status === 200) await parley.ok('POST', `/api/conversations/${id}/message`, { message: 'go' });
    else
      await parley.ok('POST', '/api/conversations', { conversation_id: id, initial_user_msg: 'go', ...more });
    const events = await parley.untilEvents(id, (all) =>
      all
        .slice(seen)
        .some(
          (event) =>
            isObservation(event, 'agent_state_changed') && event.extras.agent_state === 'awaiting_user_input',
        ),
    );
    const answer = events.findLast((event) => isObservation(event, 'run'));
    assert.ok(answer, 'the command has an outcome');
    return { code: answer.extras.metadata.exit_code, output: answer.content };
  }

  it("reach no file of the host's", async () => {
    for (const path of [
      parley.dataDir,
      `${parley.dataDir}/secret-key`,
      `${parley.dataDir}/parley.db`,
      '/root',
      '/home/agent/../../root/.bashrc',
      '/etc/shadow',
      '/proc/1/root/root',
      import.meta.filename,
    ]) {
      const { code, output } = await run('files', `ls -la ${path} && head -c 100 ${path}`);
      assert.notEqual(code, 0, `${path}: ${output}`);
    }
  });

  it("do not reach the service's port by any spelling of this machine", async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address, family }) => (family === 'IPv6' ? `[${address.replace(/%.*/, '')}]` : address));
    const hosts = [
      '127.0.0.1',
      '127.1',
      '127.0.1.1',
      '0.0.0.0',
      '0',
      'localhost',
      'LOCALHOST',
      'localhost.',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '017700000001',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      'localtest.me',
      '127.0.0.1.nip.io',
      'host.docker.internal',
      ...own,
    ];
    const script = hosts
      .flatMap((host) => [
        `curl -s -m 5 -o /dev/null -w '%{http_code}\\n' 'http://${host}:${port}/alive' | grep -q '^200' && echo reached ${host}`,
        `curl -s -m 5 --noproxy '*' 'http://${host}:${port}/alive' | grep -q ok && echo reached ${host} directly`,
        `curl -s -m 5 -p -x http://127.0.0.1:3128 'http://${host}:${port}/alive' | grep -q '"ok"' && echo tunnelled to ${host}`,
      ])
      .join('\n');
    const { output } = await run('loopback', `${script}\necho tried`);
    assert.equal(output.trim(), 'tried');
    const alive = await fetch(`${parley.url}/alive`);
    assert.equal(alive.status, 200, 'it was there to be reached');
  });

  it('do not reach the metadata service of a cloud', async () => {
    const script = [
      '169.254.169.254',
      '[fd00:ec2::254]',
      '[::ffff:169.254.169.254]',
      '0xa9fea9fe',
      'metadata.google.internal',
    ]
      .map((host) => `curl -s -m 5 -o /dev/null -w '%{http_code} ' 'http://${host}/latest/meta-data/'`)
      .join('; ');
    const { output } = await run('metadata', script);
    for (const code of output.trim().split(' ')) assert.match(code, /^(000|4..|502)$/, output);
  });

  it("do not get another repository with the user's token", async () => {
    const other = `${forge.base}/acme/other.git`;
    const { code, output } = await run(
      'victim',
      `git clone ${other} /tmp/other 2>&1; cat /tmp/other/secret.txt`,
    );
    assert.notEqual(code, 0);
    assert.doesNotMatch(output, /not mine/);
    const direct = await run('victim', `curl -s -m 5 ${other}/info/refs?service=git-upload-pack`);
    assert.doesNotMatch(direct.output, /refs\/heads/);
  });

  it("do not see another conversation's workspace", async () => {
    const { output } = await run('thief', 'find / -name private.txt 2>/dev/null; ls /workspace; echo looked');
    assert.equal(output.trim(), 'looked');
    const traversal = await run(
      'thief',
      `cat /workspace/../../../../../..${parley.dataDir}/workspaces/*/workspace/private.txt`,
    );
    assert.notEqual(traversal.code, 0);
  });

  it('cannot change the kernel or take more rights', async () => {
    const { output } = await run(
      'kernel',
      [
        '(echo x > /proc/sys/kernel/core_pattern) 2>/dev/null && echo core_pattern',
        'unshare -Ur true 2>/dev/null && echo namespace',
        'mount -t tmpfs x /mnt 2>/dev/null && echo mount',
        'su -c true 2>/dev/null && echo su',
        'id -u',
      ].join('; '),
    );
    assert.equal(output.trim(), '1000');
  });

  it('make the service neither follow a link nor wait for a pipe', async () => {
    await run(
      'links',
      `ln -s ${parley.dataDir}/secret-key key; ln -s /etc/passwd passwd; mkfifo pipe; ln -s / root`,
    );
    for (const path of ['key', 'passwd', 'pipe', 'root/etc/passwd', '../../etc/passwd', '/etc/passwd']) {
      const full = path.startsWith('/') ? path : `/workspace/${path}`;
      model.play([call('str_replace_editor', { command: 'view', path: full }), say('done')]);
      const before = (await parley.events('links')).length;
      await parley.ok('POST', '/api/conversations/links/message', { message: 'view' });
      const events = await parley.untilEvents('links', (all) =>
        all
          .slice(before)
          .some(
            (event) =>
              isObservation(event, 'agent_state_changed') &&
              event.extras.agent_state === 'awaiting_user_input',
          ),
      );
      const text = JSON.stringify(events.slice(before).filter((event) => 'observation' in event));
      assert.doesNotMatch(text, /root:x:0|nobody/, full);
    }
  });

  it('are stopped with all their children within a moment, and another command follows', async () => {
    model.play([call('execute_bash', { command: '(sleep 777 & sleep 777); sleep 777' }), say('never said')]);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'stop', initial_user_msg: 'go' });
    await parley.untilEvents('stop', (all) =>
      all.some((event) => 'action' in event && event.action === 'run'),
    );
    await parley.ok('POST', '/api/conversations/stop/stop');
    const stopped = await parley.until('stop', () => true);
    assert.deepEqual([stopped.status, stopped.agent_state], ['STOPPED', 'stopped']);
    const events = await parley.events('stop');
    const action = events.find((event) => 'action' in event && event.action === 'run');
    assert.equal(events.filter((event) => 'observation' in event && event.cause === action?.id).length, 1);
    model.play([call('execute_bash', { command: "ps -eo args | grep -c '[s]leep 777'" }), say('done')]);
    await parley.ok('POST', '/api/conversations/stop/start');
    const after = await parley.untilEvents('stop', (all) =>
      all.some((event) => isObservation(event, 'run') && event.id > events.length),
    );
    assert.equal(after.findLast((event) => isObservation(event, 'run'))?.content.trim(), '0');
  });
});
