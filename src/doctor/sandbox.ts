import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { gitFrontConfig } from '../sandbox/gateway/git-front.ts';
import { selectSandbox } from '../sandbox/select.ts';
import { type Check, fail, ok, warn } from './check.ts';

/**
 * The sandboxes' test of themselves, as a start makes it, in a run directory of its own: a running server and its
 * sandboxes are not touched.
 */
export async function checkSandbox(config: Pick<Config, 'sandbox' | 'caFile'>): Promise<Check[]> {
  const { kind, uidBase, readOnlyPaths } = config.sandbox;
  if (kind === 'none') {
    return [warn('sandbox', 'PARLEY_SANDBOX is none: no command is run', 'Set it to auto to have them run.')];
  }
  const root = process.getuid?.() === 0 && existsSync('/run');
  const runDir = await mkdtemp(join(root ? '/run' : tmpdir(), 'parley-dr-'));
  try {
    const provider = await selectSandbox(kind, {
      runDir,
      workspaces: null,
      uidBase,
      extraReadOnlyPaths: readOnlyPaths,
      caFile: config.caFile,
      startGateway: () => Promise.reject(new Error('a test of the sandbox needs no gateway')),
      gitConfig: gitFrontConfig,
      log: () => {},
    });
    try {
      return findings(provider.report);
    } finally {
      await provider.close();
    }
  } finally {
    await rm(runDir, { recursive: true, force: true });
  }
}

function findings(report: Awaited<ReturnType<typeof selectSandbox>>['report']): Check[] {
  const { kind, reason, limits } = report;
  if (kind === 'unconfined') {
    const gaps = report.checks.map(({ detail }) => detail).join('; ');
    return [warn('sandbox', `none: commands run unconfined: ${gaps}`, 'Set PARLEY_SANDBOX to auto.')];
  }
  const checks = report.checks.map(({ name, ok: held, detail }) =>
    held
      ? ok(`sandbox: ${name}`, detail)
      : fail(`sandbox: ${name}`, detail, 'Commands are not run until this holds: docs/platforms.md.'),
  );
  if (!report.ok) return [fail('sandbox', reason, 'No command is run until then.'), ...checks];
  const force = Object.entries(limits).map(([name, means]) => `${name} by ${means}`);
  return [ok('sandbox', `${kind} works`), ...checks, ok('sandbox limits', force.join(', '))];
}
