import type { SandboxReport } from './sandbox.ts';

/** What whoever starts the service must know about where commands will run. `warn`: something is missing. */
export function sandboxNotice({ kind, ok, reason, checks, limits }: SandboxReport): {
  level: 'info' | 'warn';
  text: string;
} {
  if (!ok) return { level: 'warn', text: `Conversations have no sandbox. ${reason}` };
  if (kind === 'unconfined') {
    const open = checks.filter((check) => !check.ok).map(({ detail }) => detail);
    return { level: 'warn', text: `Commands run unconfined, guarded by nothing: ${open.join('; ')}.` };
  }
  const bounds = Object.entries(limits).map(([what, by]) => `${what} by ${by}`);
  return { level: 'info', text: `Commands run in sandboxes of ${kind}, bounded in ${bounds.join(', ')}.` };
}
