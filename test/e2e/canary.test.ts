/**
 * Secrets are given to an agent that shows them in every way it can think of; then everything that the service keeps,
 * says or runs is searched for them. Not searched: the workspace and home of the conversation and the commits it pushed,
 * which are the user's own, and the environment of processes inside the sandbox, where custom secrets are meant to be.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Event, isObservation } from '../../src/events/event.ts';
import { GIT_TOKEN, startForge } from '../support/git/forge.ts';
import type { GitServer } from '../support/git/git-server.ts';
import { leaksIn, textOf } from '../support/leaks.ts';
import { call, calls, say, status } from '../support/model/answers.ts';
import { byTurn } from '../support/model/script.ts';
import { type ModelServer, startModelServer } from '../support/model/server.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { storeGitToken } from '../support/stored.ts';

const run = promisify(execFile);

/** In the shell's environment. Lower case, as a host name would make of any other. */
const CUSTOM = 'c4nary-custom-v4lue-77d1';
/** What the sandbox never gets. */
const KEPT = {
  'git token': GIT_TOKEN,
  'model key': 'sk-C4nary-M0del-K3y-51ab',
  'search key': 'tvly-C4nary-S3arch-K3y-9c',
  'sandbox key': 'C4nary-S4ndbox-K3y-3f20',
  'mcp key': 'C4nary-Mcp-K3y-b83e1d',
  'mcp variable': 'C4nary-Mcp-V4riable-0a6',
};
const SECRETS = { ...KEPT, 'custom secret': CUSTOM };
const ALL = Object.values(SECRETS);

const repository = '/workspace/app';

const WAYS = [
  'echo $CANARY; printenv; declare -p CANARY; set | grep CANARY',
  'printf %s "$CANARY" | base64; printf "x%s" "$CANARY" | base64; printf "xx%s" "$CANARY" | base64 -w 20',
  'printf %s "$CANARY" | od -An -v -tx1; printf %s "$CANARY" | od -An -v -tx1 | tr -d " \\n"',
  `printf %s "$CANARY" | sed 's/-/%2D/g'; printf '{"a": "%s"}' "$CANARY" | sed 's/c/\\\\u0063/g'`,
  'for c in $(printf %s "$CANARY" | sed "s/./& /g"); do printf %s "$c"; sleep 0.001; done; echo',
  'touch "f-$CANARY"; mkdir "d-$CANARY"; ls; ls -la "d-$CANARY"; cd "d-$CANARY"; pwd',
  'cat "/none/$CANARY"; "$CANARY"; "./$CANARY" 2>&1; cd "/none-$CANARY"; bash -c "exit \\${CANARY:?$CANARY}"',
  'echo "$CANARY" >&2; set -x; true "$CANARY"; set +x; env -i "A=$CANARY" env',
  'curl -sS "http://$CANARY.internal/"; curl -sS "http://127.0.0.1:9/$CANARY?q=$CANARY"; curl -sS "http://$CANARY:80/" -x http://127.0.0.1:3128; curl -sS -p -x http://127.0.0.1:3128 "https://$CANARY.internal/"',
  `git clone -q "$(git config --get remote.origin.url | sed s,acme/app,acme/$CANARY,)" 2>&1; git ls-remote "http://$CANARY.localhost/x"`,
  'git checkout -q -b "b-$CANARY"; git commit -q --allow-empty -m "Say $CANARY"; git tag "t-$CANARY"; git push -q origin HEAD "t-$CANARY" 2>&1; git log -1; git status',
  // Written by the agent itself, as it would who was told a secret by its user.
  ...ALL.map((secret) => `echo ${secret}; echo ${Buffer.from(secret).toString('base64')} | base64 -d`),
];

const SCRIPT = [
  ...WAYS.map((command, n) =>
    call('execute_bash', { command: `cd ${repository}; ${command}` }, { text: `Way ${n}: ${ALL.join(' ')}` }),
  ),
  calls([
    { name: 'think', input: { thought: ALL.join('\n') } },
    {
      name: 'str_replace_editor',
      input: { command: 'create', path: `${repository}/n-${CUSTOM}.txt`, file_text: ALL.join('\n') },
    },
    { name: 'str_replace_editor', input: { command: 'view', path: `${repository}/n-${CUSTOM}.txt` } },
    { name: 'str_replace_editor', input: { command: 'view', path: `/none/${CUSTOM}` } },
    { name: `tool_${CUSTOM}`, input: { [CUSTOM]: CUSTOM } },
  ]),
  call('execute_bash', `{"command": "${CUSTOM}`),
  call('execute_bash', { command: 'echo working > working; sleep 300' }),
];

describe('the canary', () => {
  let forge: GitServer;
  let model: ModelServer;
  let parley: Parley;
  let events: Event[];

  before(async () => {
    forge = await startForge({ 'acme/app': {} });
    model = await startModelServer(byTurn(SCRIPT, say(`About ${CUSTOM}`)));
    parley = await startParley({ PARLEY_LOG_LEVEL: 'trace' });
    await parley.ok('POST', '/api/settings', {
      llm_model: 'openai/scripted',
      llm_api_key: KEPT['model key'],
      llm_base_url: model.baseUrl,
      search_api_key: KEPT['search key'],
      sandbox_api_key: KEPT['sandbox key'],
      mcp_config: {
        sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: KEPT['mcp key'] }],
        stdio_servers: [{ name: 'm', command: 'false', args: [], env: { KEY: KEPT['mcp variable'] } }],
      },
      secrets_store: { custom_secrets: { CANARY: { secret: CUSTOM, description: 'sings' } } },
    });
    await storeGitToken(parley, forge);
    await parley.ok('POST', '/api/conversations', {
      conversation_id: 'canary',
      repository: 'acme/app',
      git_provider: 'github',
      initial_user_msg: `Sing ${ALL.join(' ')}`,
      conversation_instructions: `Remember ${ALL.join(' ')}`,
    });
    await parley.untilEvents('canary', (seen) => model.requests.length > 0 && isWorking(seen), 150_000);
  });
  after(async () => {
    await parley.close();
    await model.close();
    await forge.close();
  });

  function isWorking(seen: readonly Event[]): boolean {
    events = [...seen];
    return seen.some((event) => 'action' in event && JSON.stringify(event.args).includes('sleep 300'));
  }

  it('has sung: each way was gone, and the value was in its output', () => {
    const shown = events.filter((event) => isObservation(event, 'run'));
    assert.equal(shown.length, WAYS.length, JSON.stringify(events.slice(-3)));
    for (const [n, { content }] of shown.slice(0, 8).entries()) {
      assert.match(content, /<secret_hidden>/, WAYS[n]);
    }
  });

  it('is in no event, no answer of the API and no request to the model', async () => {
    assert.deepEqual(leaksIn(JSON.stringify(events), SECRETS), []);
    const paths = ['', '/events?limit=100', '/trajectory'].map((more) => `/api/conversations/canary${more}`);
    paths.push(
      '/api/conversations',
      '/api/settings',
      '/api/secrets',
      '/server_info',
      '/ready',
      '/openapi.json',
    );
    for (const path of paths) {
      const { body } = await parley.request('GET', path);
      assert.deepEqual(leaksIn(JSON.stringify(body), SECRETS), [], path);
    }
    for (const { body } of model.requests) assert.deepEqual(leaksIn(JSON.stringify(body), SECRETS), []);
  });

  it('is in no error: wrong values are named, not repeated', async () => {
    const wrong: [string, string, unknown][] = [
      ['POST', '/api/settings', { max_iterations: CUSTOM, llm_api_key: [KEPT['model key']], agent: CUSTOM }],
      ['POST', '/api/settings', { llm_base_url: `not a url ${CUSTOM}`, search_api_key: CUSTOM }],
      ['POST', '/api/settings/check', { llm_base_url: 'http://127.0.0.1:9', llm_api_key: KEPT['model key'] }],
      [
        'POST',
        '/api/add-git-providers',
        { provider_tokens: { github: { token: 7, host: CUSTOM, x: GIT_TOKEN } } },
      ],
      [
        'POST',
        '/api/add-git-providers',
        { provider_tokens: { github: { token: 'wrong-token-ccc', host: forge.base } } },
      ],
      ['POST', '/api/conversations', { image_urls: [CUSTOM], replay_json: CUSTOM, initial_user_msg: 7 }],
      ['POST', '/api/secrets', { name: 'A', value: { value: CUSTOM } }],
      ['POST', '/api/login', { key: { key: CUSTOM } }],
      ['POST', '/api/login', { key: CUSTOM }],
    ];
    for (const [method, path, body] of wrong) {
      const reply = await parley.request(method, path, body);
      assert.deepEqual(leaksIn(JSON.stringify(reply.body), SECRETS), [], `${path} ${reply.status}`);
    }
    await parley.request('GET', `/api/conversations/${CUSTOM}`);
    await parley.request('GET', `/${CUSTOM}`, undefined, CUSTOM);
  });

  it('is in nothing a failing model says', async () => {
    model.play([status(401, {}, { error: { message: `Wrong key ${KEPT['model key']}` } })]);
    await parley.ok('POST', '/api/conversations', { conversation_id: 'failing', initial_user_msg: CUSTOM });
    const view = await parley.until('failing', ({ error }) => error !== null);
    const failing = await parley.events('failing');
    assert.deepEqual(leaksIn(JSON.stringify([view, failing]), SECRETS), []);
  });

  it('is in no environment and no command line of the processes of the service', async () => {
    const found: string[] = [];
    const here = await readlink(`/proc/${parley.pid}/ns/pid`);
    let [outside, inside] = [0, 0];
    for (const pid of await processesOf(parley.pid)) {
      const seen = await processOf(pid);
      if (seen === null) continue;
      const isInside = seen.namespace !== here;
      if (isInside) inside += 1;
      else outside += 1;
      found.push(
        ...leaksIn(seen.text, isInside ? KEPT : SECRETS).map((name) => `${pid} ${seen.command}: ${name}`),
      );
    }
    assert.deepEqual(found, []);
    assert.ok(outside > 1 && inside > 1, `looked at ${outside} outside and ${inside} inside`);
  });

  it('is in no metric and no entry of the audit log, which has the push', async () => {
    const metrics = await (await fetch(`${parley.url}/metrics`)).text();
    assert.deepEqual(leaksIn(metrics, SECRETS), []);
    const audit = await parley.command('audit', '--json');
    assert.deepEqual(leaksIn(audit, SECRETS), []);
    const entries = audit
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { action: string; subject: string; detail: object });
    const push = entries.find(({ action }) => action === 'push');
    assert.equal(push?.subject, 'canary');
    assert.match(JSON.stringify(push?.detail), /refs\/heads\/b-<secret_hidden>/);
  });

  it('is in no file of the service: database, its log, keys, backup', async () => {
    assert.deepEqual(await leaksInFiles(parley.dataDir, [join(parley.dataDir, 'workspaces')]), []);
    const folder = await mkdtemp(join(tmpdir(), 'parley-canary-'));
    try {
      const backup = join(folder, 'backup.tar');
      await parley.command('backup', backup);
      await run('tar', ['-x', '-f', backup, '-C', folder, '--exclude=*workspaces/*']);
      await rm(backup);
      assert.ok((await readdir(folder, { recursive: true })).some((name) => name.endsWith('parley.db')));
      assert.deepEqual(await leaksInFiles(folder, []), []);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('leaves nothing when the conversation is stopped and removed', async () => {
    await parley.ok('POST', '/api/conversations/canary/stop');
    assert.deepEqual(leaksIn(JSON.stringify(await parley.events('canary')), SECRETS), []);
    await parley.ok('DELETE', '/api/conversations/canary');
    await parley.ok('DELETE', '/api/conversations/failing');
    assert.deepEqual(await leaksInFiles(parley.dataDir, []), []);
    // The commands as they came and the state of the shell stood there while the sandbox was open.
    assert.deepEqual(await leaksInFiles(runDirectory(parley.dataDir), []), []);
  });

  it('is in no line of the log, however much of it is kept', async () => {
    await parley.stop();
    const log = parley.output();
    assert.match(log, /"audit":true/);
    const lines = log.split('\n').filter((line) => leaksIn(line, SECRETS).length > 0);
    assert.deepEqual(lines, []);
    assert.deepEqual(await leaksInFiles(parley.dataDir, []), []);
  });
});

/** All processes below one, itself included. */
async function processesOf(pid: number): Promise<number[]> {
  const children = new Map<number, number[]>();
  for (const name of await readdir('/proc')) {
    const stat = /^[0-9]+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    const parent = Number(/^.*\) \S (\d+)/s.exec(stat)?.[1] ?? Number.NaN);
    if (!Number.isNaN(parent)) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return found;
}

async function processOf(pid: number): Promise<{ namespace: string; command: string; text: string } | null> {
  try {
    const [namespace, command, environment] = await Promise.all([
      readlink(`/proc/${pid}/ns/pid`),
      readFile(`/proc/${pid}/cmdline`, 'latin1'),
      readFile(`/proc/${pid}/environ`, 'latin1'),
    ]);
    return { namespace, command: command.slice(0, 60), text: `${command}\n${environment}` };
  } catch {
    // It has ended meanwhile.
    return null;
  }
}

/** As src/app.ts names it. */
function runDirectory(dataDir: string): string {
  const own = createHash('sha256').update(dataDir).digest('hex').slice(0, 8);
  const uid = process.getuid?.() ?? '';
  return uid === 0 ? `/run/parley-${own}` : join(tmpdir(), `parley-${uid}-${own}`);
}

async function leaksInFiles(directory: string, except: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (except.includes(path)) continue;
    found.push(...leaksIn(entry.name, SECRETS).map((name) => `name of ${path}: ${name}`));
    if (entry.isDirectory()) found.push(...(await leaksInFiles(path, except)));
    else if (entry.isFile())
      found.push(...leaksIn(await textOf(path), SECRETS).map((name) => `${path}: ${name}`));
  }
  return found;
}
