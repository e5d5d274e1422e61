import type { ConversationBody } from '../contract/conversations.ts';
import { ServiceError } from '../errors.ts';
import { userMessage } from '../events/build.ts';
import type { NewEvent } from '../events/event.ts';
import { readRecording } from './replay/recording.ts';
import { microagentPrompt, providerCalled, suggestedTaskPrompt } from './prompts/suggested-task.ts';

const MAX_TITLE = 50;
/** Characters in which the line that says something is looked for. */
const LOOKED_AT = 50_000;

/**
 * What a new conversation is called, and what its user says first: the message of the request, or the prompt of its
 * task; null for nothing.
 * @throws ServiceError invalid_request, for a recording that cannot be replayed
 */
export function openingOf(
  id: string,
  request: ConversationBody,
): { title: string; message: NewEvent | null } {
  const replayed = firstReplayed(request);
  const text = replayed?.content ?? firstWords(request);
  const images = request.image_urls ?? [];
  const says = text !== '' || images.length > 0;
  const first = replayed
    ? { ...userMessage(replayed.content, replayed.imageUrls, replayed.fileUrls), replay: 0 }
    : userMessage(text, images);
  return { title: titleFor(id, request, text), message: says || replayed ? first : null };
}

/** The message that a recording begins with. */
function firstReplayed({ replay_json }: ConversationBody) {
  if (!replay_json) return null;
  const recording = readRecording(replay_json);
  if (!recording.ok) {
    const error = { loc: ['body', 'replay_json'], msg: recording.problem, type: 'value_error' };
    throw new ServiceError('invalid_request', `replay_json ${recording.problem}.`, { errors: [error] });
  }
  const [step] = recording.steps;
  return step?.kind === 'user' ? step : null;
}

/** The text of the first message: the user's own, or the prompt for the task. Empty when there is none. */
function firstWords({ initial_user_msg, suggested_task, create_microagent }: ConversationBody): string {
  if (suggested_task) {
    const prompt = suggestedTaskPrompt(suggested_task);
    return initial_user_msg ? `${prompt}\n\nThe user adds:\n${initial_user_msg}` : prompt;
  }
  if (initial_user_msg) return initial_user_msg;
  if (!create_microagent) return '';
  const { repo, title, git_provider } = create_microagent;
  return microagentPrompt(repo, title ?? null, git_provider ? providerCalled(git_provider) : null);
}

/**
 * The title that a conversation begins with when nobody gave it one; null for a task, which has one. Of any request
 * that was ever stored.
 */
export function derivedTitle(id: string, request: ConversationBody): string | null {
  if (request.suggested_task || request.create_microagent) return null;
  const recording = request.replay_json ? readRecording(request.replay_json) : null;
  const [step] = recording?.ok ? recording.steps : [];
  return titleFor(id, request, step?.kind === 'user' ? step.content : firstWords(request));
}

function titleFor(id: string, request: ConversationBody, text: string): string {
  const task = request.suggested_task;
  if (task) return titleOf(`${task.title} #${task.issue_number}`) ?? defaultTitle(id);
  const { create_microagent: microagent } = request;
  const message = request.initial_user_msg ?? request.replay_json;
  if (microagent && !message) {
    return titleOf(`Microagent: ${microagent.title || microagent.repo}`) ?? defaultTitle(id);
  }
  return titleOf(text) ?? defaultTitle(id);
}

function defaultTitle(id: string): string {
  return `Conversation ${id.slice(0, 5)}`;
}

/** The first line that says something, at most 50 characters; null when there is none. */
export function titleOf(text: string): string | null {
  const line = text
    .slice(0, LOOKED_AT)
    .split('\n', 50)
    .map((part) => part.replaceAll(/\s+/g, ' ').trim())
    .find((part) => /[\p{L}\p{N}]/u.test(part));
  if (line === undefined) return null;
  const characters = Array.from(line.slice(0, 4 * MAX_TITLE));
  if (characters.length <= MAX_TITLE && line.length <= 4 * MAX_TITLE) return line;
  return `${characters
    .slice(0, MAX_TITLE - 1)
    .join('')
    .trimEnd()}…`;
}
