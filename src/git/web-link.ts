import { z } from 'zod';

/** An address that a provider gives for people: of the web, or none. A page may make a link of it. */
export const webLink = z
  .string()
  .nullish()
  .transform((given) => (given && /^https?:\/\//i.test(given) && URL.canParse(given) ? given : null));
