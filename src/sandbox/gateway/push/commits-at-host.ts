import { TimeLimit } from '../../../time-limit.ts';
import { send } from '../forward.ts';
import type { GitHost } from '../git-host.ts';
import type { AskCommits } from './ancestry.ts';
import { PackCommits } from './pack-commits.ts';
import { DELIMITER, FLUSH, packet, packetAt } from './packet.ts';

const DEADLINE_MS = 60_000;
const CAPABILITIES_BYTES = 256 * 1024;
/** Without the filter a host sends files, too. */
const ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Fetches commits from the conversation's repository, without their files where the host can leave them out
 * (git's Documentation/gitprotocol-v2, "fetch"). None come when it is too old for that protocol, refuses, or takes
 * longer than a minute: then there is nothing that could be proven with them.
 * @param path of the repository at the host, with the slash behind it
 */
export function commitsAtHost(
  git: GitHost,
  path: string,
  hash: 'sha1' | 'sha256',
  signal: AbortSignal,
): AskCommits {
  return async (wants, have) => {
    const pack = new PackCommits(hash);
    using limit = new TimeLimit(signal, DEADLINE_MS);
    try {
      const capabilities = await readCapabilities(git, path, limit.signal);
      if (!capabilities) return pack.commits;
      const question = fetchCommits(wants, have, hash, capabilities);
      for await (const chunk of packIn(await post(git, path, question, limit.signal)))
        await pack.write(chunk);
      await pack.end();
    } catch {
      signal.throwIfAborted();
    }
    return pack.commits;
  };
}

/** Null for a host that has no version 2. */
async function readCapabilities(git: GitHost, path: string, signal: AbortSignal): Promise<string | null> {
  const question = git.question(`${path}info/refs?service=git-upload-pack`, { 'git-protocol': 'version=2' });
  const answer = await send('GET', question, null, signal);
  let text = '';
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    if (text.length > CAPABILITIES_BYTES) return null;
  }
  return answer.statusCode === 200 && text.includes('version 2\n') ? text : null;
}

function fetchCommits(
  wants: readonly string[],
  have: string,
  hash: 'sha1' | 'sha256',
  capabilities: string,
): Buffer {
  const filters = /fetch=[^\n]*\bfilter\b/.test(capabilities);
  return Buffer.concat([
    packet('command=fetch\n'),
    ...(hash === 'sha256' ? [packet('object-format=sha256\n')] : []),
    Buffer.from(DELIMITER),
    packet('no-progress\n'),
    packet('ofs-delta\n'),
    ...(filters ? [packet('filter tree:0\n')] : []),
    ...wants.map((id) => packet(`want ${id}\n`)),
    packet(`have ${have}\n`),
    packet('done\n'),
    Buffer.from(FLUSH),
  ]);
}

async function post(
  git: GitHost,
  path: string,
  body: Buffer,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const question = git.question(`${path}git-upload-pack`, {
    'content-type': 'application/x-git-upload-pack-request',
    accept: 'application/x-git-upload-pack-result',
    'content-length': body.length,
    'git-protocol': 'version=2',
  });
  const answer = await send('POST', question, body, signal);
  if (answer.statusCode !== 200) throw new Error(`the host answered ${answer.statusCode}`);
  return answer;
}

/** The pack in an answer: what the first band brings after the section that says so. */
async function* packIn(answer: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [bytes, size, begun]: [Buffer, number, boolean] = [Buffer.alloc(0), 0, false];
  for await (const chunk of answer) {
    size += chunk.length;
    if (size > ANSWER_BYTES) throw new RangeError('the answer is too long');
    bytes = Buffer.concat([bytes, chunk]);
    let at = 0;
    for (let read = packetAt(bytes, 0); read; read = packetAt(bytes, at)) {
      at = read.next;
      if (read.packet.kind !== 'data') continue;
      const { data } = read.packet;
      if (begun && data[0] === 1) yield data.subarray(1);
      begun ||= data.toString('latin1').trimEnd() === 'packfile';
    }
    bytes = bytes.subarray(at);
  }
}
