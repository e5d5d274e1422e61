import { CREATED, DONE, event, openaiUsage, pieces, wireCalls, type Shape } from './shape.ts';

/**
 * vLLM with some tool parsers, and OCI's front to it: the first delta of a call has its name, those after repeat an
 * empty name under another id each time; the last piece shares its event with the finish reason, which says `stop`
 * even after calls; usage is an event without choices and without details.
 */
export const vllmShape: Shape = (message, { model, turn, includeUsage }) => {
  const chunk = (choices: object[], more: object = {}) =>
    event({
      id: `chatcmpl-${turn}`,
      object: 'chat.completion.chunk',
      created: CREATED,
      model,
      choices,
      ...more,
    });

  const deltas: object[] = [{ role: 'assistant', content: '' }];
  for (const piece of pieces(message.reasoning ?? '', 12)) deltas.push({ reasoning: piece });
  for (const piece of pieces(message.text ?? '', 12)) deltas.push({ content: piece });
  for (const [index, call] of wireCalls(message, turn).entries()) {
    const first = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
    deltas.push({ tool_calls: [first] });
    for (const [n, piece] of pieces(call.args, 9).entries()) {
      const more = {
        index,
        id: `${call.id}-${n}`,
        type: 'function',
        function: { name: '', arguments: piece },
      };
      deltas.push({ tool_calls: [more] });
    }
  }
  const events = deltas.map((delta, n) => {
    const last = n === deltas.length - 1;
    const finish = { finish_reason: message.finishReason ?? 'stop', stop_reason: null };
    return chunk([{ index: 0, delta, logprobs: null, ...(last ? finish : {}) }]);
  });
  const { prompt_tokens, completion_tokens, total_tokens } = openaiUsage(message.usage);
  if (includeUsage) events.push(chunk([], { usage: { prompt_tokens, completion_tokens, total_tokens } }));
  return [...events, DONE];
};
