import { z } from 'zod';

import type { Event } from '../../events/event.ts';

/** What the model is told of a server's answer. */
interface AnswerTold {
  text: string;
  error: boolean;
  images?: readonly string[];
}

const answer = z.object({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  isError: z.boolean().default(false),
});

/** The texts of a server's answer. What is none (in an imported log anything may stand there) is told as it is. */
export function mcpTold({ content, extras }: Extract<Event, { observation: 'mcp' }>): AnswerTold {
  const images = extras.image_urls ? { images: extras.image_urls } : {};
  const parsed = answer.safeParse(jsonOf(content));
  if (!parsed.success) return { text: content === '' ? 'Done.' : content, error: false, ...images };
  const texts = parsed.data.content.flatMap(({ text }) => (text ? [text] : []));
  return { text: texts.join('\n') || 'Done.', error: parsed.data.isError, ...images };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
