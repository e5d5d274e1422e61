import { z } from 'zod';
import { knownMembers } from '../../contract/known-members.ts';
import { problems } from '../../contract/problem.ts';
import {
  READ_ONLY_MEMBERS,
  settingsBody,
  settingsPatch,
  settingsReply,
  settingsView,
} from '../../contract/settings.ts';
import { ServiceError } from '../../errors.ts';
import type { SettingsService } from '../../settings/service.ts';
import { ignoredMembers, noteIgnored } from './ignored-members.ts';
import type { Routes } from '../fastify-types.ts';

const MESSAGE = 'Settings stored' as const;
const WRITE_PROBLEMS = problems({
  422: 'A member is not valid, or a stored secret would go to another destination. Nothing is stored.',
});

/** The settings of whoever asks. */
export function settingsRoutes(service: SettingsService): Routes {
  return (server, _options, done) => {
    const preValidation = noteIgnored(knownMembers(settingsPatch, READ_ONLY_MEMBERS));

    server.post('/api/settings', {
      schema: {
        tags: ['settings'],
        summary: 'Store settings',
        description:
          'An omitted member stays as it is, but for the four with a default; null clears. A secret is kept by null and cleared by "".',
        body: settingsBody,
        response: { 200: settingsReply, ...WRITE_PROBLEMS },
      },
      preValidation,
      handler: async (request) => {
        await service.store(request.principal, request.body);
        return { message: MESSAGE, ...ignoredMembers(request) };
      },
    });

    server.patch('/api/settings', {
      schema: {
        tags: ['settings'],
        summary: 'Change settings',
        description: 'Changes only the members it names.',
        body: settingsPatch,
        response: { 200: settingsReply, ...WRITE_PROBLEMS },
      },
      preValidation,
      handler: async (request) => {
        await service.patch(request.principal, request.body);
        return { message: MESSAGE, ...ignoredMembers(request) };
      },
    });

    server.get('/api/settings', {
      schema: {
        tags: ['settings'],
        summary: 'Read settings',
        description: 'Every member; a secret is null, and a member `…_set` says whether one is stored.',
        response: {
          200: settingsView,
          ...problems({ 404: 'Nothing was stored yet.' }),
        },
      },
      handler: (request) => service.read(request.principal.userId),
    });

    server.post('/api/reset-settings', {
      config: { storesNothing: true },
      schema: {
        tags: ['settings'],
        summary: 'No longer offered, as in V0',
        body: z.unknown().optional(),
        response: problems({ 410: 'Store the settings that are wanted instead.' }),
      },
      handler: () => {
        throw new ServiceError(
          'gone',
          'Settings are not reset as a whole; POST /api/settings stores others.',
        );
      },
    });

    done();
  };
}
