import { parse } from 'yaml';
import { z } from 'zod';

/** Where a repository keeps its own. */
export const MICROAGENT_FOLDER = '.openhands/microagents';
/** Files beside it that other tools read, and which say the same to any agent. */
export const INSTRUCTION_FILES = ['AGENTS.md', '.cursorrules'];

/** Knowledge that a repository brings, as V0 names its parts. */
export interface Microagent {
  name: string;
  /** `repo`: told always. `knowledge`: told when a message has one of its triggers. */
  type: 'repo' | 'knowledge';
  content: string;
  triggers: string[];
  inputs: { name: string; description: string }[];
  /** Names of MCP servers. They are shown and never started: only a user adds servers. */
  tools: string[];
}

/** Characters of a head, of a name, and of a trigger; and how many triggers. Nobody who means well needs more. */
const LONGEST_HEAD = 8_192;
const LONGEST_NAME = 100;
const LONGEST_TRIGGER = 100;
const MOST_TRIGGERS = 32;

const names = z.array(z.union([z.string(), z.number(), z.boolean()]).transform(String));
const head = z.object({
  name: z.string().min(1).max(LONGEST_NAME).optional().catch(undefined),
  type: z.string().optional().catch(undefined),
  triggers: names.catch([]),
  inputs: z.array(z.object({ name: z.coerce.string(), description: z.coerce.string().catch('') })).catch([]),
  mcp_tools: z
    .object({ stdio_servers: z.array(z.object({ name: z.string() })).catch([]) })
    .transform(({ stdio_servers }) => stdio_servers.map(({ name }) => name))
    .catch([]),
});

/** Characters of the heads of all files together: a parser of YAML takes its time for those of somebody who means ill. */
const MOST_OF_HEADS = 65_536;

/** What may still be read of heads, by all files that are read together. */
export class HeadRoom {
  #left = MOST_OF_HEADS;

  take(length: number): boolean {
    this.#left -= length;
    return this.#left >= 0;
  }
}

/**
 * A head in YAML between two lines of `---`, if there is one, then what is told. Whatever the head holds, the rest is
 * told; `problem` says what of the head could not be used, in a few words.
 */
export function parseMicroagent(
  file: string,
  text: string,
  room = new HeadRoom(),
): Microagent & { problem: string | null } {
  const [, yaml = '', body = text] = /^---\r?\n(?:([^]*?)\r?\n)?---[ \t]*(?:\r?\n|$)([^]*)$/.exec(text) ?? [];
  const { map, problem } = mapOf(yaml, room);
  const { name, type, triggers, inputs, mcp_tools } = head.parse(map);
  const usable = triggers
    .map((trigger) => trigger.trim())
    .filter((trigger) => trigger !== '' && trigger.length <= LONGEST_TRIGGER)
    .slice(0, MOST_TRIGGERS);
  const noList = 'triggers' in map && !names.nullable().safeParse(map.triggers).success;
  return {
    name: oneLine(name ?? file),
    type: usable.length > 0 && type !== 'repo' ? 'knowledge' : 'repo',
    content: body.trim(),
    triggers: usable,
    inputs,
    tools: mcp_tools,
    problem: problem ?? (noList ? 'its triggers are no list of words' : null),
  };
}

function mapOf(yaml: string, room: HeadRoom): { map: object; problem: string | null } {
  if (yaml.trim() === '') return { map: {}, problem: null };
  if (yaml.length > LONGEST_HEAD) return { map: {}, problem: `it is longer than ${LONGEST_HEAD} characters` };
  if (!room.take(yaml.length))
    return { map: {}, problem: `there are more than ${MOST_OF_HEADS} characters of heads before it` };
  try {
    // A handful of anchors is plenty; a thousand would be a bomb. Errors are not shown, and pretty ones take long.
    const value: unknown = parse(yaml, { maxAliasCount: 20, logLevel: 'error', prettyErrors: false });
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { map: value, problem: null };
    }
    return { map: {}, problem: 'it has no members' };
  } catch {
    return { map: {}, problem: 'it is no YAML' };
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_NAME);
}
