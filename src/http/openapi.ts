import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
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
    description: 'Any other error; docs/errors.md lists them by their code.',
    content: { 'application/problem+json': { schema: problem } },
  },
};
const NO_KEY = problems({ 401: 'No valid key.' });

type Transform = typeof jsonSchemaTransform;

/** Routes as they are documented: those with a schema, with what the server adds to each. */
const transform: Transform = (document) => {
  const { route } = document;
  if (!document.schema) return { schema: { hide: true }, url: document.url };
  const open = route.config?.open === true;
  // fastify types it as unknown; routes give an object or nothing.
  const own = document.schema.response as object | undefined;
  const response = { ...(!open && NO_KEY), ...ANY_ERROR, ...own };
  const { schema, url } = jsonSchemaTransform({ ...document, schema: { ...document.schema, response } });
  const [method = ''] = [route.method].flat();
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
