import { CREATED, DONE, event, openaiUsage, pieces, wireCalls, type Shape } from './shape.ts';

/**
 * Google's OpenAI-compatible endpoint: every event names the role; calls have no `index`, each comes whole in an
 * event of its own, the first with a thought signature that the next request must bring back; the finish reason is
 * `stop` even after calls; running usage stands in every event, asked for or not.
 */
export const geminiShape: Shape = (message, { model, turn }) => {
  const usage = openaiUsage(message.usage);
  const chunk = (delta: object, finish_reason?: string) =>
    event({
      choices: [
        { delta: { role: 'assistant', ...delta }, ...(finish_reason ? { finish_reason } : {}), index: 0 },
      ],
      created: CREATED,
      id: `gemini-${turn}`,
      model,
      object: 'chat.completion.chunk',
      usage,
    });
  const events = pieces(message.text ?? '', 40).map((content) => chunk({ content }));
  for (const [n, call] of wireCalls(message, turn).entries()) {
    const signature = { extra_content: { google: { thought_signature: `signature-${turn}` } } };
    const whole = { function: { arguments: call.args, name: call.name }, id: call.id, type: 'function' };
    events.push(chunk({ tool_calls: [n === 0 ? { ...signature, ...whole } : whole] }));
  }
  events.push(chunk({}, message.finishReason ?? 'stop'));
  return [...events, DONE];
};
