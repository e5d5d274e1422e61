import type { Failure } from '../failure.ts';
import type { Unit } from '../history/history.ts';

/** The part of a history that is about to drop out of what the model is shown. */
export interface Part {
  /** Oldest first, each whole. */
  units: readonly Unit[];
  /** What stands already for what dropped out before it; null for nothing. */
  former: string | null;
  /** Tokens that a request about it may have, and that what stands for it may have. */
  room: { request: number; summary: number };
}

/** Finds what stands for a part of the history from now on, beside what the user said in it. */
export interface Condenser {
  /**
   * Text of at most `room.summary` tokens that stands for the part and for what was before it, or null for nothing.
   * That it cannot be had is no failure: then the former text stays. `ok: false` only when no call of the model can
   * succeed before its user does something.
   * @throws the signal's reason
   */
  condense(part: Part, signal: AbortSignal): Promise<Condensed>;
}

export type Condensed = { ok: true; summary: string | null } | { ok: false; failure: Failure };
