import { z } from 'zod';
import { cleared, line } from './text.ts';

const polarity = z
  .union([z.enum(['positive', 'negative']), cleared], { error: 'must be "positive" or "negative"' })
  .nullish();

/** Body of `POST …/submit-feedback`. Pages also send the events they have seen: ours are the log. */
export const feedbackBody = z.object({
  polarity: polarity.describe('Whether it went well.'),
  feedback: polarity.describe('The name that older clients have for `polarity`.'),
  permissions: z
    .union([z.enum(['public', 'private']), cleared], { error: 'must be "public" or "private"' })
    .nullish(),
  email: line(320).nullish().describe('An address to answer to.'),
  version: line(100).nullish().describe('What the client calls its form.'),
});

/** In V0's form, which came from a service behind it. Nothing is shared, so there is no password to it. */
export const feedbackReply = z.object({
  statusCode: z.literal(200),
  body: z.object({ message: z.string(), feedback_id: z.string(), password: z.literal('') }),
});
