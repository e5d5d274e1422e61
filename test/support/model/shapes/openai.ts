import { CREATED, DONE, event, openaiUsage, pieces, wireCalls, type Shape } from './shape.ts';

/**
 * api.openai.com: the role alone first; a call begins with its id, name and empty arguments, which then come a few
 * characters at a time under the call's `index`; the finish reason stands in an empty delta; usage, when asked for,
 * is a last event without choices.
 */
export const openaiShape: Shape = (message, { model, turn, includeUsage }) => {
  const chunk = (choices: object[], more: object = {}) =>
    event({
      id: `chatcmpl-${turn}`,
      object: 'chat.completion.chunk',
      created: CREATED,
      model,
      service_tier: 'default',
      system_fingerprint: 'fp_scripted',
      choices,
      ...(includeUsage ? { usage: null } : {}),
      ...more,
    });
  const delta = (delta: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }]);

  const calls = wireCalls(message, turn);
  const events = [
    delta({ role: 'assistant', content: message.text === undefined ? null : '', refusal: null }),
  ];
  for (const piece of pieces(message.reasoning ?? '', 12)) events.push(delta({ reasoning_content: piece }));
  for (const piece of pieces(message.text ?? '', 12)) events.push(delta({ content: piece }));
  for (const [index, call] of calls.entries()) {
    const { id, name } = call;
    events.push(delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }));
    for (const piece of pieces(call.args, 3)) {
      events.push(delta({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  }
  events.push(delta({}, message.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')));
  if (includeUsage) events.push(chunk([], { usage: openaiUsage(message.usage) }));
  return [...events, DONE];
};
