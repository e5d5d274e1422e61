import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';

/** A message of a request, as the clients of all providers take it. */
export type Message = LanguageModelV4Message;
export type UserMessage = Extract<Message, { role: 'user' }>;
export type UserPart = UserMessage['content'][number];

/** A tool as a model is offered it. Whether an input fits its schema is for who makes the call to say. */
export type ModelTool = LanguageModelV4FunctionTool;

/** A message of the user that is text alone. */
export function userText(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}
