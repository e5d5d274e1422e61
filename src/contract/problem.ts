import { z } from 'zod';

/** The body of every error (RFC 9457). */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('One sentence a person can act on.'),
  code: z.string().describe('Stable: branch on it. docs/errors.md lists all.'),
  message: z.string().describe('The same text as detail.'),
  request_id: z.string(),
  errors: z
    .array(
      z.object({
        loc: z.array(z.union([z.string(), z.int()])),
        msg: z.string(),
        type: z.string(),
      }),
    )
    .optional()
    .describe('Every offending member of a rejected request.'),
});

type ProblemResponse = {
  description: string;
  content: { 'application/problem+json': { schema: typeof problem } };
};

/** Error answers of a route for the OpenAPI document: what they mean, by their status. */
export function problems<const Status extends number>(meanings: Readonly<Record<Status, string>>) {
  const responses = {} as Record<Status, ProblemResponse>;
  for (const status in meanings) {
    const content = { 'application/problem+json': { schema: problem } };
    responses[status] = { description: meanings[status], content };
  }
  return responses;
}
