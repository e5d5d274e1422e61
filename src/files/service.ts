import { Readable } from 'node:stream';
import type { Principal } from '../auth/principal.ts';
import { conversationNotFound } from '../conversations/service.ts';
import type { Conversation, ConversationStore } from '../conversations/store.ts';
import type { Microagent } from '../microagents/microagent.ts';
import { readMicroagents } from '../microagents/read.ts';
import type { Workspaces } from '../runs/workspaces.ts';
import { archive } from './archive.ts';
import { type Listing, listFolder, MOST_TEXT, notFound, readText, textOf, tooLarge } from './browse.ts';
import { type Change, parseChanges } from './changes.ts';
import { answered, type GitQuestion, type InSandbox, streamed, TooMuch } from './git.ts';
import { CHANGES, ORIGINAL, PATCH } from './git-script.ts';
import { insidePath, repositoryFolder } from './paths.ts';
import { Turns } from '../turns.ts';
import { storeUpload, type Uploaded } from './upload.ts';

export interface FilePorts {
  conversations: Pick<ConversationStore, 'find'>;
  workspaces: Workspaces;
  /** Before files are brought in. @throws ServiceError disk_almost_full */
  admitWork(): Promise<void>;
}

/** What of the list of changes is taken: some hundred thousand of them. */
const MOST_CHANGES = 32 * 1024 * 1024;

/** How much of what takes long one user has at a time: a page asks for the differences of many files at once. */
const AT_ONCE = 4;

/** The files of conversations: looked at, brought in and taken out, whether or not the conversation runs. */
export class FileService {
  readonly #ports: FilePorts;
  readonly #turns = new Turns(AT_ONCE);

  constructor(ports: FilePorts) {
    this.#ports = ports;
  }

  async list(principal: Principal, id: string, path: string): Promise<Listing> {
    const { key } = await this.#find(principal, id);
    const { workspaces } = this.#ports;
    const root = workspaces.rootOf(key);
    const { names, more } = await listFolder(await workspaces.files(key), root, insidePath(root, path));
    const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
    return { names: names.map((name) => `${prefix}${name}`), more };
  }

  async read(principal: Principal, id: string, path: string): Promise<string> {
    const { key } = await this.#find(principal, id);
    const { workspaces } = this.#ports;
    return await readText(await workspaces.files(key), insidePath(workspaces.rootOf(key), path));
  }

  /** Takes files one after the other; each is told what became of it, as soon as it is whole on the disk. */
  async upload(
    principal: Principal,
    id: string,
  ): Promise<(file: { name: string; content: AsyncIterable<Uint8Array> }) => Promise<Uploaded>> {
    const { key } = await this.#find(principal, id);
    const { workspaces } = this.#ports;
    await this.#ports.admitWork();
    const root = workspaces.rootOf(key);
    const files = await workspaces.filesToWrite(key);
    let room = await workspaces.room(key);
    return async (file) => {
      const stored = await storeUpload(files, root, file, room);
      if (stored.ok) room -= stored.size;
      return stored;
    };
  }

  /** Made as it is read, and only when it is. */
  async zip(principal: Principal, id: string, signal: AbortSignal): Promise<Readable> {
    const { key, userId } = await this.#find(principal, id);
    const done = await this.#turns.take(userId, signal);
    const bytes = archive((leftOut) => this.#ports.workspaces.walk(key, leftOut));
    return Readable.from(bytes, { objectMode: false }).once('close', done);
  }

  /** Everything the conversation changed, as `git apply` takes it. */
  async patch(principal: Principal, id: string, signal: AbortSignal): Promise<Readable> {
    const row = await this.#find(principal, id);
    const done = await this.#turns.take(row.userId, signal);
    try {
      const patch = await streamed(this.#inSandbox(row), this.#question(row, PATCH), signal);
      return patch.once('close', done);
    } catch (error) {
      done();
      throw error;
    }
  }

  async changes(principal: Principal, id: string, signal: AbortSignal): Promise<Change[]> {
    const row = await this.#find(principal, id);
    return parseChanges(await this.#answered(row, this.#question(row, CHANGES), MOST_CHANGES, signal));
  }

  /** A file of the repository as it was where the branch began, and as it is; "" where it is not there. */
  async diff(
    principal: Principal,
    id: string,
    path: string,
    signal: AbortSignal,
  ): Promise<{ original: string; modified: string }> {
    const row = await this.#find(principal, id);
    const clean = relative(path);
    const question = { ...this.#question(row, ORIGINAL), args: [clean] };
    const { workspaces } = this.#ports;
    const place = `${workspaces.rootOf(row.key)}/${question.folder && `${question.folder}/`}${clean}`;
    const files = await workspaces.files(row.key);
    const now = await files.stat(place);
    const modified = now.ok ? await readText(files, place) : '';
    try {
      const original = await this.#answered(row, question, MOST_TEXT, signal);
      return { original: textOf(path, original), modified };
    } catch (error) {
      throw error instanceof TooMuch ? tooLarge(path) : error;
    }
  }

  /** Those that the repository brings. */
  async microagents(principal: Principal, id: string): Promise<Microagent[]> {
    const row = await this.#find(principal, id);
    const { workspaces } = this.#ports;
    const folder = row.selectedRepository === null ? '' : `/${repositoryFolder(row.selectedRepository)}`;
    const root = `${workspaces.rootOf(row.key)}${folder}`;
    return (await readMicroagents(await workspaces.files(row.key), root)).microagents;
  }

  async #answered(
    row: Conversation,
    question: GitQuestion,
    most: number,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const done = await this.#turns.take(row.userId, signal);
    return await answered(this.#inSandbox(row), question, most, signal).finally(done);
  }

  #question({ selectedRepository }: Conversation, script: string): GitQuestion {
    return { script, folder: selectedRepository === null ? '' : repositoryFolder(selectedRepository) };
  }

  #inSandbox({ key }: Conversation): InSandbox {
    return (signal, use) => this.#ports.workspaces.inSandbox(key, signal, use);
  }

  async #find({ userId }: Principal, id: string): Promise<Conversation> {
    const row = await this.#ports.conversations.find(userId, id);
    if (!row) throw conversationNotFound(id);
    return row;
  }
}

/** A path in the repository without `.` and `..`, which git would take for something else. */
function relative(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0 || parts.includes('..') || path.includes('\0'))
    throw notFound(path, 'outside_workspace');
  return parts.join('/');
}
