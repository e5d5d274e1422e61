import type { UserModelMessage } from 'ai';

import { type Event, isObservation, type ObservationExtras } from '../events/event.ts';

export type UserMessageEvent = Extract<Event, { action: 'message' }>;

/** What the model is told came of a call. */
export interface Told {
  text: string;
  error: boolean;
}

export function resultTold(event: Extract<Event, { observation: string }>): Told {
  if (isObservation(event, 'run')) {
    const { prefix, suffix } = event.extras.metadata;
    return { text: `${prefix}${event.content.replace(/\n$/, '')}${suffix}`.trimStart(), error: false };
  }
  const error = isObservation(event, 'error') || isObservation(event, 'user_rejected');
  return { text: event.content === '' ? 'Done.' : event.content, error };
}

/** Where the agent stands, told with the message that began the conversation. */
export function contextTold(extras: ObservationExtras['recall']): string {
  const { repo_name, repo_branch, repo_instructions, date, working_dir } = extras;
  const lines = [`Today is ${date}. The shell starts in ${working_dir}.`];
  if (repo_name !== '') {
    lines.push(`The repository ${repo_name} is cloned there; the branch ${repo_branch} was checked out.`);
  }
  if (repo_instructions !== '') lines.push(repo_instructions);
  return `<context>\n${lines.join('\n')}\n</context>`;
}

/** Messages of the user in one, after what else is to be said. As plain text where there are no images. */
export function userTold(
  messages: readonly UserMessageEvent[],
  before: readonly (string | null)[],
): UserModelMessage {
  const texts = [...before.filter((text) => text !== null), ...messages.flatMap(textsOf)];
  const images = messages.flatMap(({ args }) => args.image_urls ?? []).flatMap(imageOf);
  const text = texts.join('\n\n');
  if (images.length === 0) return { role: 'user', content: text };
  return { role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...images] };
}

function textsOf({ args }: UserMessageEvent): string[] {
  const files = args.file_urls ?? [];
  const uploaded =
    files.length === 0 ? [] : [`Files that the user put into the workspace: ${files.join(', ')}`];
  return [...(args.content === '' ? [] : [args.content]), ...uploaded];
}

/** An address that is none would fail the whole request, again and again. */
function imageOf(url: string) {
  if (!URL.canParse(url)) return [];
  return [{ type: 'file' as const, data: new URL(url), mediaType: mediaTypeOf(url) }];
}

function mediaTypeOf(url: string): string {
  return /^data:(image\/[a-z0-9.+-]+)[;,]/i.exec(url)?.[1] ?? 'image';
}
