// https://www.sqlite.org/rescode.html
export const BUSY = 5;
export const FULL = 13;
/** Beside those: NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN, NOTADB: the database is in trouble, not the statement wrong. */
const TROUBLE: ReadonlySet<number> = new Set([BUSY, FULL, 7, 8, 10, 11, 14, 26]);
/** IOERR_SHMSIZE: no room for the index of the write-ahead log, which is made at every start. */
const NO_ROOM_FOR_INDEX = 4874;

/** The primary result code of an error of SQLite; 0 of any other. */
export function resultCode(reason: unknown): number {
  return extendedCode(reason) & 0xff;
}

export function isTrouble(reason: unknown): boolean {
  return TROUBLE.has(resultCode(reason));
}

export function isDiskFull(reason: unknown): boolean {
  return resultCode(reason) === FULL || extendedCode(reason) === NO_ROOM_FOR_INDEX;
}

function extendedCode(reason: unknown): number {
  return reason instanceof Error && 'errcode' in reason ? Number(reason.errcode) : 0;
}
