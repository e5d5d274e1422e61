import { realpathSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { send, type SendResult } from '@fastify/send';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { inlineScripts } from './inline-scripts.ts';

/** Paths that are the service's, whether or not there is something at them. */
const OURS = ['/api', '/socket.io', '/docs', '/openapi.json', '/metrics', '/mcp'];

/** The names of built files change with what is in them (V0: 30 days). */
const ASSETS = '/assets/';
const KEPT = 'public, max-age=2592000, immutable';

/** The paths of the index, whose scripts its policy names. */
const INDEX = ['/', '/index.html'];

/** Gives a page of the client, if this is a request for one. */
export type WebClient = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/**
 * Serves the files of a folder, a client built by somebody else: each at its path, and the index for every other
 * address that a browser goes to. What leads out of the folder is not there, by a link neither.
 */
export function webClient(folder: string): WebClient {
  const root = realpathSync(folder);
  const index = join(root, 'index.html');

  return async (request, reply) => {
    const [path = ''] = request.raw.url?.split('?', 1) ?? [];
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    if (OURS.some((own) => path === own || path.startsWith(`${own}/`))) return false;
    const found = INDEX.includes(path) ? null : await fileAt(request, path, root);
    if (found) {
      reply.code(found.statusCode).headers(found.headers).header('content-security-policy', policyOf(''));
      // By where the file is: `/assets/../robots.txt` is none of them.
      if (found.path.startsWith(join(root, ASSETS))) reply.header('cache-control', KEPT);
      await reply.send(found.stream);
      return true;
    }
    if (!INDEX.includes(path) && (path.startsWith(ASSETS) || !isForPeople(request))) return false;
    const page = await readFile(index, 'utf8');
    await reply.type('text/html; charset=utf-8').header('content-security-policy', policyOf(page)).send(page);
    return true;
  };
}

async function fileAt(
  request: FastifyRequest,
  path: string,
  root: string,
): Promise<(SendResult & { path: string }) | null> {
  let real = '';
  const onFile = async (file: string): Promise<void> => {
    real = await realpath(file);
  };
  const options = { root, index: false, dotfiles: 'ignore', cacheControl: false, onFile } as const;
  const found = await send(request.raw, path, options);
  if (found.type === 'file' && real.startsWith(root + sep)) return { ...found, path: real };
  found.stream.destroy();
  return null;
}

/** Where no client is served: who comes to `/` with a browser, from the log-in for one, is shown what there is. */
export const withoutClient: WebClient = async (request, reply) => {
  const [path] = request.raw.url?.split('?', 1) ?? [];
  if (path !== '/' || request.method !== 'GET' || !isForPeople(request)) return false;
  await reply.redirect('/docs/');
  return true;
};

/** Somebody goes there, as against a script that asks for data and would take the page for it. */
function isForPeople({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') ?? false;
}

/**
 * What the client shows comes from models and repositories: scripts are its own alone, and nothing it is made to show
 * can carry anything elsewhere.
 */
function policyOf(page: string): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${inlineScripts(page).join(' ')}`.trim(),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}
