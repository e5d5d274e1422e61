import { DEFAULT_USAGE, pieces, wireCalls, type Shape } from './shape.ts';

/** api.anthropic.com's Messages: named events, one content block after the other, usage at both ends. */
export const anthropicShape: Shape = (message, { model, turn }) => {
  const events: string[] = [];
  const send = (data: { type: string } & Record<string, unknown>) =>
    events.push(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  let index = -1;
  const block = (content_block: object, deltas: object[]) => {
    index += 1;
    send({ type: 'content_block_start', index, content_block });
    for (const delta of deltas) send({ type: 'content_block_delta', index, delta });
    send({ type: 'content_block_stop', index });
  };

  const usage = message.usage ?? DEFAULT_USAGE;
  const cached = usage.cached ?? 0;
  const input = {
    // Anthropic counts what came from the cache beside the input, not within it.
    input_tokens: usage.prompt - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
  };
  const start = { id: `msg_${turn}`, type: 'message', role: 'assistant', model, content: [] };
  const open = { stop_reason: null, stop_sequence: null, usage: { ...input, output_tokens: 1 } };
  send({ type: 'message_start', message: { ...start, ...open } });
  send({ type: 'ping' });
  if (message.reasoning !== undefined) {
    const signature = { type: 'signature_delta', signature: `signature-${turn}` };
    const thoughts = pieces(message.reasoning, 12).map((thinking) => ({ type: 'thinking_delta', thinking }));
    block({ type: 'thinking', thinking: '', signature: '' }, [...thoughts, signature]);
  }
  if (message.text !== undefined) {
    const parts = pieces(message.text, 12).map((text) => ({ type: 'text_delta', text }));
    block({ type: 'text', text: '' }, parts);
  }
  const calls = wireCalls(message, turn);
  for (const { id, name, args } of calls) {
    const parts = pieces(args, 5).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    block({ type: 'tool_use', id, name, input: {} }, [
      { type: 'input_json_delta', partial_json: '' },
      ...parts,
    ]);
  }
  const stop_reason = message.finishReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
  const end = { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: usage.completion } };
  send({ type: 'message_delta', ...end });
  send({ type: 'message_stop' });
  return events;
};
