import { CREATED, DONE, event, openaiUsage, pieces, wireCalls, type Shape } from './shape.ts';

/**
 * api.mistral.ai: the first event has the role and empty content; all calls come together in the last event, beside
 * empty content, the finish reason and the usage (asked for or not); they are numbered, but have no `type`.
 */
export const mistralShape: Shape = (message, { model, turn }) => {
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
    event({
      id: `cmpl-${turn}`,
      object: 'chat.completion.chunk',
      created: CREATED,
      model,
      choices: [{ index: 0, delta, finish_reason }],
      ...more,
    });
  const calls = wireCalls(message, turn).map((call, index) => ({
    id: call.id,
    function: { name: call.name, arguments: call.args },
    index,
  }));
  const finish = message.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...pieces(message.text ?? '', 6).map((content) => chunk({ content }, null)),
    chunk({ content: '', ...(calls.length > 0 ? { tool_calls: calls } : { tool_calls: null }) }, finish, {
      usage: openaiUsage(message.usage),
    }),
    DONE,
  ];
};
