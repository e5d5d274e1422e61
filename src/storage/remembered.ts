import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * Rows that were read lately, kept while nobody can have changed them. This process says by `forget()` when it has;
 * of other processes SQLite tells whether they have committed anything (`pragma data_version`), and that is asked once
 * in a turn of the event loop: what they change counts from the next turn on.
 */
export class Remembered<Row> {
  readonly #version: StatementSync;
  readonly #most: number;
  #seen: unknown;
  #rows = new Map<string, Row>();
  #looked = false;

  /**
   * @param writing the connection all writes of this process go through: they are not told of
   * @param most rows; beyond them, the one that was kept first goes
   */
  constructor(writing: DatabaseSync, most: number) {
    this.#version = writing.prepare('pragma data_version');
    this.#most = most;
  }

  /** The row of that key, read when it is not known. That there is none is not remembered. */
  async get(key: string, read: () => Promise<Row | undefined>): Promise<Row | undefined> {
    this.#lookOnce();
    const rows = this.#rows;
    const known = rows.get(key);
    if (known !== undefined) return known;
    const row = await read();
    // What was forgotten meanwhile is another map: a row that was read before does not get into the new one.
    if (row !== undefined) this.#keep(rows, key, row);
    return row;
  }

  /** The row as a transaction of ours has just written it: to be forgotten should that fail. */
  set(key: string, row: Row): void {
    this.#keep(this.#rows, key, row);
  }

  /** To be called when a change of ours is committed that was not `set`, or one that was did not get that far. */
  forget(): void {
    this.#rows = new Map();
  }

  #keep(rows: Map<string, Row>, key: string, row: Row): void {
    rows.set(key, row);
    const [first] = rows.keys();
    if (rows.size > this.#most && first !== undefined) rows.delete(first);
  }

  #lookOnce(): void {
    if (this.#looked) return;
    this.#looked = true;
    setImmediate(() => (this.#looked = false));
    this.look();
  }

  /** Whether others have committed anything, asked now: a transaction must know exactly what it begins with. */
  look(): void {
    const version = this.#version.get()?.['data_version'];
    if (version !== this.#seen) this.forget();
    this.#seen = version;
  }
}
