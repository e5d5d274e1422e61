import { z } from 'zod';
import { secretValue } from './settings.ts';
import { text, variableName } from './text.ts';

const description = text(2_000).nullish().describe('Told to the agent beside the name.');
const value = secretValue.refine((secret) => secret.unwrap() !== '', 'must not be empty');

/** Body of `POST /api/secrets`. */
export const newSecret = z.object({ name: variableName(), value, description });
export type NewSecret = z.output<typeof newSecret>;

/** Body of `PUT /api/secrets/{name}`: another name, another description; ours: another value. */
export const secretChange = z.object({ name: variableName(), value: value.nullish(), description });
export type SecretChange = z.output<typeof secretChange>;

/** Answer of `GET /api/secrets`: values are never read back. */
export const secretList = z.object({
  custom_secrets: z.array(z.object({ name: z.string(), description: z.string() })),
});
export type SecretList = z.output<typeof secretList>;

export const secretCreated = z.object({ message: z.literal('Secret created successfully') });
export const secretUpdated = z.object({ message: z.literal('Secret updated successfully') });
export const secretDeleted = z.object({ message: z.literal('Secret deleted successfully') });
