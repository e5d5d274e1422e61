import type { Checks, CheckState } from './git-provider.ts';

/** One failure fails all; else what runs is waited for. */
export function overallState(checks: readonly { state: CheckState }[]): Checks['state'] {
  for (const state of ['failure', 'pending', 'success', 'neutral'] as const) {
    if (checks.some((check) => check.state === state)) return state;
  }
  return 'none';
}
