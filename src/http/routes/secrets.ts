import { z } from 'zod';
import { problems } from '../../contract/problem.ts';
import {
  newSecret,
  secretChange,
  secretCreated,
  secretDeleted,
  secretList,
  secretUpdated,
} from '../../contract/secrets.ts';
import type { SettingsService } from '../../settings/service.ts';
import type { Routes } from '../fastify-types.ts';

/** The name in a path. Any text is looked up: what cannot be a name is as unknown as one that is not there. */
const byName = z.object({ name: z.string() });
const UNKNOWN = { 404: 'There is no such secret.' } as const;

/** The custom secrets of whoever asks: their names and descriptions, never a value. */
export function secretsRoutes(service: SettingsService): Routes {
  return (server, _options, done) => {
    server.get('/api/secrets', {
      schema: {
        tags: ['secrets'],
        summary: 'List custom secrets',
        response: { 200: secretList },
      },
      handler: (request) => service.customSecrets(request.principal.userId),
    });

    server.post('/api/secrets', {
      schema: {
        tags: ['secrets'],
        summary: 'Store a custom secret',
        description: "It becomes a variable of the agent's shell.",
        body: newSecret,
        response: {
          201: secretCreated,
          ...problems({
            400: 'There is one of that name.',
            422: 'A member is not valid.',
          }),
        },
      },
      handler: async (request, reply) => {
        await service.addSecret(request.principal, request.body);
        return reply.code(201).send({ message: 'Secret created successfully' });
      },
    });

    server.put('/api/secrets/:name', {
      schema: {
        tags: ['secrets'],
        summary: 'Change a custom secret',
        description: 'Its name, its description, and its value when one is given.',
        params: byName,
        body: secretChange,
        response: {
          200: secretUpdated,
          ...problems({ ...UNKNOWN, 400: 'The new name is taken.', 422: 'A member is not valid.' }),
        },
      },
      handler: async ({ principal, params, body }) => {
        await service.changeSecret(principal, params.name, body);
        return { message: 'Secret updated successfully' as const };
      },
    });

    server.delete('/api/secrets/:name', {
      schema: {
        tags: ['secrets'],
        summary: 'Remove a custom secret',
        params: byName,
        response: { 200: secretDeleted, ...problems(UNKNOWN) },
      },
      handler: async ({ principal, params }) => {
        await service.removeSecret(principal, params.name);
        return { message: 'Secret deleted successfully' as const };
      },
    });

    done();
  };
}
