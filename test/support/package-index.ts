import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { encodeHeader, END_OF_ARCHIVE, paddingOf } from '../../src/backup/tar-format.ts';
import { zip } from '../../src/files/zip.ts';

/** What the package of both kinds says when it is asked. */
export const GREETING = 'greetings from the index';

export interface PackageIndex extends AsyncDisposable {
  readonly host: string;
  /** `http://HOST:PORT`: a simple index (PEP 503) at `/simple/`, an npm registry at `/`. */
  readonly url: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
}

/**
 * Serves one package, `greet` 1.0.0, to pip and to npm.
 * @param host an address of loopback that programs in a sandbox ask the proxy for: not 127.0.0.1
 */
export async function startPackageIndex(host: string): Promise<PackageIndex> {
  const asked: string[] = [];
  const wheel = await wheelOf();
  const tarball = tarballOf();
  const server = createServer((incoming, response) => {
    const path = incoming.url ?? '';
    asked.push(path);
    const origin = `http://${incoming.headers.host}`;
    const answer = (type: string, body: string | Buffer): void =>
      void response.writeHead(200, { 'content-type': type }).end(body);
    if (path === '/simple/greet/') {
      const sum = createHash('sha256').update(wheel).digest('hex');
      return answer('text/html', `<!doctype html><a href="/files/${WHEEL}#sha256=${sum}">${WHEEL}</a>`);
    }
    if (path === `/files/${WHEEL}`) return answer('application/zip', wheel);
    if (path === '/greet') return answer('application/json', JSON.stringify(packument(origin, tarball)));
    if (path === '/greet-1.0.0.tgz') return answer('application/gzip', tarball);
    response.writeHead(404).end();
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The package index has no port');
  return {
    host: `${host}:${address.port}`,
    url: `http://${host}:${address.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const WHEEL = 'greet-1.0.0-py3-none-any.whl';

/** Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/ */
async function wheelOf(): Promise<Buffer> {
  const info = 'greet-1.0.0.dist-info';
  const files: Record<string, string> = {
    'greet.py': `print(${JSON.stringify(GREETING)})\n`,
    [`${info}/METADATA`]: 'Metadata-Version: 2.1\nName: greet\nVersion: 1.0.0\n',
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/RECORD`]: `greet.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  async function* entries() {
    for (const [path, text] of Object.entries(files)) {
      const content = Buffer.from(text);
      yield {
        path,
        mode: 0o100_644,
        mtime: new Date(0),
        size: content.length,
        content: Readable.from([content]),
      };
    }
  }
  return await buffer(zip(entries()));
}

function tarballOf(): Buffer {
  const files = {
    'package/package.json': JSON.stringify({ name: 'greet', version: '1.0.0', main: 'greet.js' }),
    'package/greet.js': `console.log(${JSON.stringify(GREETING)})\n`,
  };
  const entries = Object.entries(files).flatMap(([path, text]) => {
    const [name, content, none] = [Buffer.from(path), Buffer.from(text), Buffer.alloc(0)];
    const { length: size } = content;
    const head = {
      path: name,
      type: 'file',
      mode: 0o644,
      uid: 0,
      gid: 0,
      size,
      mtime: 0,
      target: none,
    } as const;
    return [encodeHeader(head), content, Buffer.alloc(paddingOf(size))];
  });
  return gzipSync(Buffer.concat([...entries, END_OF_ARCHIVE]));
}

/** Source: https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md */
function packument(origin: string, tarball: Buffer) {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `${origin}/greet-1.0.0.tgz`, integrity };
  return {
    name: 'greet',
    'dist-tags': { latest: '1.0.0' },
    versions: { '1.0.0': { name: 'greet', version: '1.0.0', dist } },
  };
}
