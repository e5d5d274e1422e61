import type { Conversation } from '../../conversations/store.ts';
import type { StretchOptions } from '../stand.ts';

/** Tells a phase of the start by V0's name for it: on the row, and to who watches. */
export type TellPhase = (runtimeStatus: string, message: string) => Promise<void>;

export function phaseTeller({ transact, notify }: StretchOptions, row: Conversation): TellPhase {
  return async (runtimeStatus, message) => {
    await transact(({ conversations }) => conversations.change(row.key, { runtimeStatus }, row.generation));
    notify(row.key, { status_update: true, type: 'info', id: runtimeStatus, message });
  };
}
