import { readFile } from 'node:fs/promises';
import Fastify from 'fastify';
import { inlineScripts } from './inline-scripts.ts';
import type { Routes } from './fastify-types.ts';

interface Reference {
  page: string;
  /** Content-Security-Policy of the page: its own scripts and nothing from or to elsewhere. */
  policy: string;
  script: Buffer;
}

/** The reference page at `/docs`, and the table of errors that every problem's `type` points to. */
export const docsRoutes: Routes = (server, _options, done) => {
  const config = { open: true };
  let loading: Promise<Reference> | undefined;
  // Four megabytes of a page that few ever open.
  const reference = (): Promise<Reference> => (loading ??= load());

  server.get('/docs', { config }, (_request, reply) => reply.redirect('/docs/'));
  server.get('/docs/', { config }, async (_request, reply) => {
    const { page, policy } = await reference();
    return reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(page);
  });
  server.get('/docs/js/scalar.js', { config }, async (_request, reply) => {
    const { script } = await reference();
    return reply.type('text/javascript; charset=utf-8').header('cache-control', 'max-age=3600').send(script);
  });
  server.get('/docs/errors', { config }, async (_request, reply) => {
    const text = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    return reply.type('text/markdown; charset=utf-8').send(text);
  });
  done();
};

/** The plugin brings its routes along; a server of its own that never listens gives us what they would answer. */
async function load(): Promise<Reference> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const inner = Fastify();
  await inner.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Parley API',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
    },
  });
  const page = (await inner.inject('/docs/')).body;
  const script = (await inner.inject('/docs/js/scalar.js')).rawPayload;
  await inner.close();
  return { page, policy: policyOf(page), script };
}

function policyOf(page: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' ${inlineScripts(page).join(' ')}`.trim(),
    // The page's framework sets style attributes.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
