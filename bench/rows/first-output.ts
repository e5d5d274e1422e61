import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GIT_TOKEN, startForge } from '../../test/support/git/forge.ts';
import { type Parley, startParley } from '../../test/support/parley.ts';
import { heldTo, type Row, type Share, type Subject } from '../row.ts';
import { startModel, useModel } from '../support/model.ts';
import { median } from '../support/statistics.ts';

const CONVERSATIONS = 20;
const REPOSITORY = 'ann/website';
const REPOSITORY_BYTES = 10_000_000;
const FILE_BYTES = 10_000;
const GOAL_MS = 150;
const GOAL_WITH_REPOSITORY_MS = 400;
const PATIENCE_MS = 30_000;

/** From the POST that creates a conversation until its first command's output is read. */
export const firstOutput: Subject = {
  seconds: 120,
  measure: async (share) => {
    await using model = await startModel({ steps: 1, tool: 'execute_bash', delay: 0 });
    await using forge = await startForge({ [REPOSITORY]: { files: filesOf(REPOSITORY_BYTES * share) } });
    await using app = await startParley({ PARLEY_RATE_LIMIT: '0', PARLEY_MAX_RUNNING: '100,100' });
    await useModel(app, model);
    await app.ok('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: GIT_TOKEN, host: forge.base } },
    });
    const clone = forge.cloneUrl(REPOSITORY).replace('//', `//ann:${GIT_TOKEN}@`);
    return [
      await rowOf('without a repository', share, GOAL_MS, {
        ours: (n) => createAndRead(app, `empty-${n}`),
        limit: () => confinedHello(),
      }),
      await rowOf(
        `with a repository of ${(REPOSITORY_BYTES * share) / 1e6} MB`,
        share,
        GOAL_WITH_REPOSITORY_MS,
        {
          ours: (n) => createAndRead(app, `cloned-${n}`, { repository: REPOSITORY, git_provider: 'github' }),
          limit: async () => (await cloneBare(clone)) + (await confinedHello()),
        },
      ),
    ];
  },
};

async function rowOf(
  what: string,
  share: Share,
  goal: number,
  { ours, limit }: { ours: (n: number) => Promise<number>; limit: () => Promise<number> },
): Promise<Row> {
  const runs = { ours: [] as number[], limit: [] as number[] };
  // The first one also loads what only conversations need.
  await ours(0);
  for (let n = 1; n <= Math.max(3, CONVERSATIONS * share); n += 1) {
    runs.ours.push(await ours(n));
    runs.limit.push(await limit());
  }
  const middle = median(runs.ours);
  return {
    what: `POST /api/conversations to the first command's output, ${what}`,
    measured: `${middle.toFixed(0)} ms, slowest ${Math.max(...runs.ours).toFixed(0)} ms`,
    limit: `${median(runs.limit).toFixed(0)} ms`,
    ...heldTo(share, `< ${goal} ms`, middle < goal),
    runs,
  };
}

async function createAndRead(app: Parley, id: string, more: object = {}): Promise<number> {
  const begun = performance.now();
  await app.ok('POST', '/api/conversations', {
    conversation_id: id,
    initial_user_msg: `bench-${id.replace('-', '')}`,
    ...more,
  });
  const stream = await fetch(`${app.url}/api/conversations/${id}/events/stream`, {
    headers: { 'X-Session-API-Key': app.key },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (!stream.ok || !stream.body) throw new Error(`the stream answered ${stream.status}`);
  let received = '';
  for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
    received += chunk;
    const error = /"observation":"error","content":"([^"]*)"/.exec(received)?.[1];
    if (error !== undefined) throw new Error(`conversation ${id}: ${error}`);
    if (received.includes('"observation":"run"')) return performance.now() - begun;
  }
  throw new Error('the stream ended without the output of a command');
}

/** A shell in namespaces of its own that says one word. As root it would be another program: bubblewrap then skips work. */
async function confinedHello(): Promise<number> {
  const begun = performance.now();
  const args = [
    '--unshare-all',
    '--die-with-parent',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
  ];
  const isRoot = process.getuid?.() === 0;
  const child = spawn('bwrap', [...args, 'bash', '-c', 'echo hello'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(isRoot && { uid: 65_534, gid: 65_534 }),
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  if (output !== 'hello\n') throw new Error('bubblewrap alone cannot run a shell');
  return performance.now() - begun;
}

async function cloneBare(url: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'clone-'));
  const begun = performance.now();
  await promisify(execFile)('git', ['clone', '-q', url, folder]);
  return performance.now() - begun;
}

/** Text that compresses as code does: lines of words, no two alike. */
function filesOf(bytes: number): Record<string, string> {
  const words = Array.from({ length: 2_000 }, (_, n) => ((n * 2_654_435_761) % 4_294_967_296).toString(36));
  let at = 1;
  const word = () => {
    at = (at * 48_271) % 2_147_483_647;
    return words[at % words.length] ?? '';
  };
  return Object.fromEntries(
    Array.from({ length: Math.max(1, Math.round(bytes / FILE_BYTES)) }, (_, n) => {
      let text = '';
      while (text.length < FILE_BYTES) text += `${Array.from({ length: 10 }, word).join(' ')}\n`;
      return [`src/folder-${n % 30}/file-${n}.txt`, text.slice(0, FILE_BYTES)];
    }),
  );
}
