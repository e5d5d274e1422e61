import type { FileRefusal, WorkspaceFiles } from '../sandbox/workspace-files.ts';
import {
  INSTRUCTION_FILES,
  MICROAGENT_FOLDER,
  HeadRoom,
  type Microagent,
  parseMicroagent,
} from './microagent.ts';

const MOST_FILES = 200;
const MOST_BYTES = 256 * 1024;
/** Of all files together: they are read again with each message. */
const MOST_BYTES_IN_ALL = 2 * 1024 * 1024;

/** What a repository has to tell. */
export interface RepositoryKnowledge {
  /** By name. */
  microagents: Microagent[];
  /** What could not be used and why, each a sentence for people. Nothing of it is fatal: a repository may hold anything. */
  problems: string[];
}

const REFUSED: Partial<Record<FileRefusal, string>> = {
  too_large: `it is larger than ${MOST_BYTES / 1024} KiB`,
  outside_workspace: 'it leads out of the workspace',
  not_a_file: 'it is no file',
  not_permitted: 'it may not be read',
};

/** Reads what the repository at `root` brings for agents. */
export async function readMicroagents(files: WorkspaceFiles, root: string): Promise<RepositoryKnowledge> {
  const microagents: Microagent[] = [];
  const problems: string[] = [];
  const room = new HeadRoom();
  let left = MOST_BYTES_IN_ALL;

  const textAt = async (path: string): Promise<string | null> => {
    const read = await files.read(`${root}/${path}`, MOST_BYTES);
    if (!read.ok) {
      const why = REFUSED[read.why];
      if (why !== undefined) problems.push(`${path} was not read: ${why}.`);
      return null;
    }
    left -= read.value.byteLength;
    if (left < 0) {
      problems.push(
        `${path} was not read: there is more than ${MOST_BYTES_IN_ALL / 1024 ** 2} MiB before it.`,
      );
      return null;
    }
    return new TextDecoder().decode(read.value);
  };

  for (const name of INSTRUCTION_FILES) {
    const content = (await textAt(name))?.trim();
    if (!content) continue;
    microagents.push({ name, type: 'repo', content, triggers: [], inputs: [], tools: [] });
  }
  const listed = await files.list(`${root}/${MICROAGENT_FOLDER}`, MOST_FILES + 1);
  const names = listed.ok ? listed.value.map(({ name }) => name).toSorted() : [];
  if (names.length > MOST_FILES)
    problems.push(`${MICROAGENT_FOLDER} has more than ${MOST_FILES} files: not all were read.`);
  for (const name of names.slice(0, MOST_FILES)) {
    if (!name.endsWith('.md') || left < 0) continue;
    const text = await textAt(`${MICROAGENT_FOLDER}/${name}`);
    if (text === null) continue;
    const { problem, ...microagent } = parseMicroagent(name.slice(0, -'.md'.length), text, room);
    if (problem !== null)
      problems.push(`The head of ${MICROAGENT_FOLDER}/${name} cannot be used: ${problem}.`);
    microagents.push(microagent);
  }
  return { microagents: microagents.toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}
