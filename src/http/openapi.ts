import swagger from '@fastify/swagger';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import { problem, problems } from '../contract/problem.ts';
import { version } from '../observe/version.ts';

const SECURITY = [{ key: [] }, { bearer: [] }, { cookie: [] }];

const SCHEMES = {
  key: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' },
  bearer: { type: 'http', scheme: 'bearer' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'parley_session', description: 'From POST /api/login.' },
} as const;

const ANY_ERROR = {
  default: {
    description: 'What nobody expected; docs/errors.md lists all errors by their code.',
    content: { 'application/problem+json': { schema: problem } },
  },
};

/** What a request meets before its route, and so may be answered by any. */
const EVERY = problems({
  400: 'Not a valid HTTP request.',
  421: 'The request is for a host that is not this service.',
});
const WITH_KEY = problems({ 401: 'No valid key.', 429: 'Too many requests.' });
const WITH_COOKIE = problems({ 403: 'The cookie of a log-in came with a page of another origin.' });
const WITH_BODY = problems({
  408: 'The body did not arrive in time.',
  413: 'The body is too large.',
  415: 'The body is of a type that is not taken.',
  422: 'The body is not valid.',
});
const STORING = problems({ 503: 'The data could not be stored, or the disk is almost full.' });

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function commonResponses(method: string, { open, storesNothing }: FastifyContextConfig): object {
  const reads = SAFE_METHODS.has(method);
  return {
    ...EVERY,
    ...(open !== true && { ...WITH_KEY, ...WITH_COOKIE }),
    ...(!reads && WITH_BODY),
    ...(!reads && storesNothing !== true && STORING),
    ...ANY_ERROR,
  };
}

type Transform = typeof jsonSchemaTransform;

/** Routes as they are documented: those with a schema, with what the server adds to each. */
const transform: Transform = (document) => {
  const { route } = document;
  if (!document.schema) return { schema: { hide: true }, url: document.url };
  const open = route.config?.open === true;
  // fastify types it as unknown; routes give an object or nothing.
  const own = document.schema.response as object | undefined;
  const [method = ''] = [route.method].flat();
  const response = { ...commonResponses(method, route.config ?? {}), ...own };
  const { schema, url } = jsonSchemaTransform({ ...document, schema: { ...document.schema, response } });
  return {
    schema: { operationId: operationId(method, url), security: open ? [] : SECURITY, ...schema },
    url,
  };
};

/** `POST /api/conversations/:id/start` → `postConversationsIdStart`: what generated clients call it. */
function operationId(method: string, url: string): string {
  const words = url.split(/[^A-Za-z0-9]+/).filter((word) => word !== '' && word !== 'api');
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
}

/**
 * The description of all routes that are registered after this, at `/openapi.json`, from the schemas that validate.
 * It is made when it is first asked for.
 */
export async function describeRoutes(server: FastifyInstance): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        version,
        description:
          'Stores settings and git tokens, and lets an agent work on a repository in a conversation.',
      },
      servers: [{ url: '/' }],
      components: { securitySchemes: SCHEMES },
    },
    transform,
  });
  let text: string | undefined;
  server.get('/openapi.json', { config: { open: true } }, (_request, reply) => {
    text ??= JSON.stringify(server.swagger());
    return reply.type('application/json').send(text);
  });
}
