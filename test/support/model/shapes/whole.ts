import type { Message } from '../answers.ts';
import { CREATED, openaiUsage, wireCalls, type ShapeRequest } from './shape.ts';

/** OpenAI's answer to a request without `stream: true`: one JSON body. */
export function wholeCompletion(message: Message, { model, turn }: ShapeRequest): object {
  const tool_calls = wireCalls(message, turn).map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.args },
  }));
  return {
    id: `chatcmpl-${turn}`,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: message.text ?? null,
          refusal: null,
          ...(tool_calls.length > 0 ? { tool_calls } : {}),
        },
        logprobs: null,
        finish_reason: message.finishReason ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop'),
      },
    ],
    usage: openaiUsage(message.usage),
  };
}
