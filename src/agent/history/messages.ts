import { type Message, userText } from '../../model/message.ts';
import type { Call, Step, Unit } from './history.ts';
import { imageOf, userTold } from './told.ts';

/** The messages that stand for one unit in a request to the model. */
export function messagesOf(unit: Unit, note: string | null = null): Message[] {
  switch (unit.kind) {
    case 'user':
      return [userTold(unit.messages, [unit.context, note])];
    case 'said':
      return unit.text.trim() === ''
        ? []
        : [{ role: 'assistant', content: [{ type: 'text', text: unit.text }] }];
    case 'told':
      return [userText(unit.text)];
    default:
      return stepTold(unit);
  }
}

function stepTold({ text, calls }: Step): Message[] {
  // Some models begin with blank lines, and Anthropic refuses a text that is blank.
  const spoken = text.trim() === '' ? [] : [{ type: 'text' as const, text }];
  return [
    {
      role: 'assistant',
      content: [
        ...spoken,
        ...calls.map(({ id, name, input, metadata }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input,
          ...(metadata === undefined ? {} : { providerOptions: metadata }),
        })),
      ],
    },
    {
      role: 'tool',
      content: calls.map(({ id, name, result }) => ({
        type: 'tool-result' as const,
        toolCallId: id,
        toolName: name,
        output: {
          type: result?.error ? ('error-text' as const) : ('text' as const),
          value: result?.text ?? 'There is no result.',
        },
      })),
    },
    ...calls.flatMap(imagesTold),
  ];
}

/** After the results: few providers take an image within one. */
function imagesTold({ name, result }: Call): Message[] {
  const images = (result?.images ?? []).flatMap(imageOf);
  if (images.length === 0) return [];
  const said = { type: 'text' as const, text: `What ${name} gave to look at:` };
  return [{ role: 'user', content: [said, ...images] }];
}
