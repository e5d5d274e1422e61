import { CREATED, DONE, event, openaiUsage, wireCalls, type Shape } from './shape.ts';

/**
 * Small local servers (llama.cpp before its calls were streamed, and its like): the whole answer is one event with
 * the finish reason in it, no role, calls without an id; usage stands there too, asked for or not.
 */
export const llamaCppShape: Shape = (message, { model, turn }) => {
  const tool_calls = wireCalls(message, turn).map((call, index) => ({
    index,
    type: 'function',
    function: { name: call.name, arguments: call.args },
  }));
  const delta = {
    content: message.text ?? null,
    ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  const finish_reason = message.finishReason ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop');
  const whole = {
    choices: [{ finish_reason, index: 0, delta }],
    created: CREATED,
    id: `chatcmpl-${turn}`,
    model,
    object: 'chat.completion.chunk',
    usage: openaiUsage(message.usage),
  };
  return [event(whole), DONE];
};
