import { parse } from 'yaml';
import { z } from 'zod';
import type { WorkspaceFiles } from '../sandbox/workspace-files.ts';

/** Knowledge that a repository brings, as V0 names its parts. */
export interface Microagent {
  name: string;
  /** `repo`: told always. `knowledge`: told when a message has one of its triggers. */
  type: 'repo' | 'knowledge';
  content: string;
  triggers: string[];
  inputs: { name: string; description: string }[];
  /** Names of MCP servers. */
  tools: string[];
}

const FOLDER = '.openhands/microagents';
/** Files beside it that other tools read, and which say the same to any agent. */
const INSTRUCTIONS = ['AGENTS.md', '.cursorrules'];

const MOST_FILES = 200;
const MOST_BYTES = 256 * 1024;

const names = z.array(z.coerce.string()).catch([]);
const head = z.object({
  name: z.string().optional().catch(undefined),
  type: z.string().optional().catch(undefined),
  triggers: names,
  inputs: z.array(z.object({ name: z.coerce.string(), description: z.coerce.string().catch('') })).catch([]),
  mcp_tools: z
    .object({ stdio_servers: z.array(z.object({ name: z.string() })).catch([]) })
    .transform(({ stdio_servers }) => stdio_servers.map(({ name }) => name))
    .catch([]),
});

/** Those of the repository at `root`, by name. What cannot be read is passed over: the repository may hold anything. */
export async function readMicroagents(files: WorkspaceFiles, root: string): Promise<Microagent[]> {
  const found: Microagent[] = [];
  const listed = await files.list(`${root}/${FOLDER}`, MOST_FILES);
  for (const { name } of listed.ok ? listed.value : []) {
    if (!name.endsWith('.md')) continue;
    const text = await textAt(files, `${root}/${FOLDER}/${name}`);
    if (text !== null) found.push(parseMicroagent(name.slice(0, -'.md'.length), text));
  }
  for (const name of INSTRUCTIONS) {
    const content = await textAt(files, `${root}/${name}`);
    if (content !== null) found.push({ name, type: 'repo', content, triggers: [], inputs: [], tools: [] });
  }
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A head in YAML between two lines of `---`, if there is one, then what is told. */
export function parseMicroagent(file: string, text: string): Microagent {
  const [, yaml = '', body = text] = /^---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)([^]*)$/.exec(text) ?? [];
  const { name, type, triggers, inputs, mcp_tools } = head.parse(mapOf(yaml));
  return {
    name: name ?? file,
    type: triggers.length > 0 && type !== 'repo' ? 'knowledge' : 'repo',
    content: body.trim(),
    triggers,
    inputs,
    tools: mcp_tools,
  };
}

function mapOf(yaml: string): object {
  try {
    // A handful of anchors is plenty; a thousand would be a bomb.
    const value: unknown = parse(yaml, { maxAliasCount: 20, logLevel: 'silent' });
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

async function textAt(files: WorkspaceFiles, path: string): Promise<string | null> {
  const read = await files.read(path, MOST_BYTES);
  return read.ok ? new TextDecoder().decode(read.value) : null;
}
