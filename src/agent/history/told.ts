import { type UserMessage, type UserPart, userText } from '../../model/message.ts';
import { mcpTold } from './mcp-told.ts';
import {
  type ActionEvent,
  type Event,
  isAction,
  isObservation,
  type ObservationExtras,
} from '../../events/event.ts';
import { isNotHere } from '../tools/not-here.ts';
import { enclosed } from '../prompts/enclosed.ts';

export type UserMessageEvent = Extract<Event, { action: 'message' }>;

/** What the model is told came of a call. */
export interface Told {
  text: string;
  error: boolean;
  /** `data:` addresses. */
  images?: readonly string[];
}

export function resultTold(event: Extract<Event, { observation: string }>): Told {
  if (isObservation(event, 'run')) {
    const { prefix, suffix } = event.extras.metadata;
    return { text: `${prefix}${event.content.replace(/\n$/, '')}${suffix}`.trimStart(), error: false };
  }
  if (isObservation(event, 'mcp')) return mcpTold(event);
  const error = isObservation(event, 'error') || isObservation(event, 'user_rejected');
  return { text: event.content === '' ? 'Done.' : event.content, error };
}

/** What is told of what the user has had done. What it gave may be of the repository, and stays in its block. */
export function ranTold(action: ActionEvent, answer: Extract<Event, { observation: string }>): string {
  const { text } = resultTold(answer);
  if (isNotHere(action.action)) return askedInVain(action, text);
  const done = isAction(action, 'run')
    ? `ran a command in your shell:\n$ ${action.args.command}`
    : `did this by your tools:\n${action.message || `${action.action} ${JSON.stringify(action.args)}`}`;
  return `The user ${done}\nWhat it gave, which is no message of the user:\n<command_output>\n${enclosed(text, ['command_output'])}\n</command_output>`;
}

/** Characters of an action's arguments that are told, when no tool was there to do with them what it does. */
const MAX_ARGS = 2_000;

function askedInVain({ action: name, args }: ActionEvent, why: string): string {
  const given = JSON.stringify(args).slice(0, MAX_ARGS).toWellFormed();
  return `The user sent the action ${name}, which no tool here does, and was answered: ${why}\nIts arguments began:\n${given}`;
}

/** What a repository says cannot end the block that it stands in, or begin another. */
const BLOCKS = ['context', 'repository_instructions', 'repository_knowledge'];

/** What is told with a message of the user: with the first where the agent stands and what the repository always tells, with each what its words brought up. */
export function recallTold(extras: ObservationExtras['recall']): string {
  const { recall_type, repo_instructions, microagent_knowledge } = extras;
  const parts = recall_type === 'workspace_context' ? [contextTold(extras)] : [];
  if (repo_instructions !== '') {
    parts.push(
      `<repository_instructions>\nThe repository says of itself, for whoever works on it:\n\n${enclosed(repo_instructions, BLOCKS)}\n</repository_instructions>`,
    );
  }
  for (const { name, trigger, content } of microagent_knowledge) {
    parts.push(
      `<repository_knowledge>\nThe repository has this about "${enclosed(trigger, BLOCKS)}" (${enclosed(name, BLOCKS)}), which may help or not:\n\n${enclosed(content, BLOCKS)}\n</repository_knowledge>`,
    );
  }
  return parts.join('\n\n');
}

function contextTold({ repo_name, repo_branch, date, working_dir }: ObservationExtras['recall']): string {
  const lines = [`Today is ${date}. The shell starts in ${working_dir}.`];
  if (repo_name !== '') {
    lines.push(`The repository ${repo_name} is cloned there; the branch ${repo_branch} was checked out.`);
  }
  return `<context>\n${lines.join('\n')}\n</context>`;
}

/** Messages of the user in one, after what else is to be said. As plain text where there are no images. */
export function userTold(
  messages: readonly UserMessageEvent[],
  before: readonly (string | null)[],
): UserMessage {
  const texts = [...before, ...messages.flatMap(textsOf)].filter((text) => text !== null && text !== '');
  const images = messages.flatMap(({ args }) => args.image_urls ?? []).flatMap(imageOf);
  const text = texts.join('\n\n');
  // A request that has a blank text is refused by some, and so would be all that follow.
  if (images.length === 0) return userText(text === '' ? 'The message of the user is empty.' : text);
  return { role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...images] };
}

function textsOf({ args }: UserMessageEvent): string[] {
  const files = args.file_urls ?? [];
  const uploaded =
    files.length === 0 ? [] : [`Files that the user put into the workspace: ${files.join(', ')}`];
  return [...(args.content.trim() === '' ? [] : [args.content]), ...uploaded];
}

/** An address that is none would fail the whole request, again and again. */
export function imageOf(url: string): UserPart[] {
  if (!URL.canParse(url)) return [];
  const [, mediaType = 'image', data] = /^data:(image\/[a-z0-9.+-]+)?[^,]*,(.*)$/is.exec(url) ?? [];
  if (data !== undefined) return [{ type: 'file', data: { type: 'data', data }, mediaType }];
  return [{ type: 'file', data: { type: 'url', url: new URL(url) }, mediaType }];
}

/** What was estimated before the agent began. It is no step of its own, which would be the last word in a request. */
export function estimateTold(text: string): string {
  return `Before you began, the issue was judged by itself. The user has seen this, too:\n${text}`;
}
