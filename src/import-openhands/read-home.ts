import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../start-error.ts';
import type { ReadFile } from './events.ts';

/** One session as it lies there. */
export interface Session {
  id: string;
  metadata: ReadFile;
  events: ReadFile[];
}

/** More than any event that V0 wrote. */
const LARGEST = 256 * 1024 * 1024;

/** V0's directory (`~/.openhands`). @throws StartError when it is none */
export class OpenHandsHome {
  readonly #directory: string;

  constructor(directory: string) {
    const marks = ['settings.json', 'secrets.json', 'sessions'];
    if (!marks.some((name) => existsSync(join(directory, name)))) {
      throw new StartError(
        `${directory} has neither settings.json, secrets.json nor sessions: name the directory that OpenHands kept its files in (~/.openhands).`,
      );
    }
    this.#directory = directory;
  }

  /** Null when it is not there. */
  async read(name: string): Promise<ReadFile | null> {
    return existsSync(join(this.#directory, name)) ? await this.#json(name) : null;
  }

  async sessionIds(): Promise<string[]> {
    const path = join(this.#directory, 'sessions');
    if (!existsSync(path)) return [];
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  async metadata(id: string): Promise<ReadFile> {
    return await this.#json(join('sessions', id, 'metadata.json'));
  }

  async session(id: string): Promise<Session> {
    const folder = join('sessions', id, 'events');
    const names = existsSync(join(this.#directory, folder))
      ? (await readdir(join(this.#directory, folder))).filter((name) => name.endsWith('.json'))
      : [];
    const events: ReadFile[] = [];
    for (const name of names) events.push(await this.#json(join(folder, name)));
    return { id, metadata: await this.metadata(id), events };
  }

  async #json(name: string): Promise<ReadFile> {
    const path = join(this.#directory, name);
    try {
      const { size } = await stat(path);
      if (size > LARGEST) return { name, problem: `has ${size} bytes, too many` };
      return { name, json: JSON.parse(await readFile(path, 'utf8')) as unknown };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : null;
      return { name, problem: code === null ? 'is not JSON' : `cannot be read (${code})` };
    }
  }
}
