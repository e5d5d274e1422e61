import { Secret } from '../../../src/secrets/secret.ts';
import type { ModelOutcome } from '../../../src/model/answer.ts';
import { type ModelTool, userText } from '../../../src/model/message.ts';
import { resolveModel } from '../../../src/model/resolve.ts';
import { modelStep, type ModelRequest } from '../../../src/model/step.ts';
import type { Answer } from './answers.ts';
import { type ModelServer, startModelServer } from './server.ts';

export const MODEL_KEY = 'sk-test-0123456789abcdef';
const tools = ['execute_bash', 'think'].map((name): ModelTool => ({
  type: 'function',
  name,
  inputSchema: { type: 'object' },
}));

/** A request of one step, without what an agent brings to it. */
export function requestTo(
  server: ModelServer,
  more: Partial<ModelRequest> = {},
  name = 'scripted',
): ModelRequest {
  return {
    model: resolveModel({ name, baseUrl: server.baseUrl, apiKey: new Secret(MODEL_KEY) }, fetch),
    system: 'You help.',
    messages: [userText('Hi')],
    tools,
    signal: new AbortController().signal,
    ...more,
  };
}

/** What becomes of it at a server that gives this answer. */
export async function ask(
  answer: Answer,
  more: Partial<ModelRequest> = {},
  name?: string,
): Promise<ModelOutcome> {
  await using server = await startModelServer([answer]);
  return await modelStep(requestTo(server, more, name));
}
