import { ServiceError } from '../../errors.ts';
import type { Conversation } from '../../conversations/store.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { cloneRepository } from './clone.ts';
import type { CloneFailure } from './clone-failure.ts';
import { phaseTeller, type TellPhase } from './phase.ts';
import { findScripts, recordScripts, runScripts } from './repository-scripts.ts';
import { openToPrepare, type Stand, type StretchOptions } from '../stand.ts';
import type { Workplace } from '../workplace.ts';

/**
 * Makes what the conversation works on, each phase visible: the clone, then what the repository wants to be run. Null
 * when it is ready. What a former start left off is not begun anew: its scripts say how far it came.
 */
export async function prepare(options: StretchOptions, stand: Stand): Promise<CloneFailure | null> {
  const { row, workplace } = stand;
  const phase = phaseTeller(options, row);
  if (row.selectedRepository !== null) {
    if (!workplace) return noRepositories(row);
    try {
      const failed = row.prepared ? null : await makeWorkspace(options, stand, workplace, phase);
      if (failed) return failed;
      await runScripts(options, stand, phase);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'sandbox_unavailable') return noSandbox(error);
      throw error;
    }
  }
  await options.transact(({ conversations }) =>
    conversations.change(
      row.key,
      {
        status: 'RUNNING',
        runtimeStatus: 'STATUS$READY',
        error: null,
        prepared: true,
        ...(workplace && { selectedBranch: workplace.branch.name }),
      },
      row.generation,
    ),
  );
  // What follows in this stretch reads the row: from here on the start is behind it.
  row.status = 'RUNNING';
  options.notify(row.key, { status_update: true, type: 'info', id: 'STATUS$READY', message: '' });
  return null;
}

async function makeWorkspace(
  options: StretchOptions,
  stand: Stand,
  workplace: Workplace,
  phase: TellPhase,
): Promise<CloneFailure | null> {
  const { signal } = stand;
  await phase('STATUS$STARTING_RUNTIME', 'Starting the sandbox');
  const sandbox: Sandbox = await openToPrepare(options, stand);
  await phase('STATUS$SETTING_UP_WORKSPACE', `Cloning ${workplace.name}`);
  const cloned = await cloneRepository(sandbox, {
    url: workplace.url,
    repository: workplace.name,
    directory: workplace.directory,
    branch: workplace.branch,
    askWhy: async () => {
      const asked = await workplace.provider?.repository(workplace.name, signal);
      return asked && asked.kind !== 'ok' ? asked : null;
    },
    signal,
  });
  signal.throwIfAborted();
  if (!cloned.ok) return cloned;
  await recordScripts(options, stand, await findScripts(sandbox, workplace.directory));
  return null;
}

function noSandbox(error: ServiceError): CloneFailure {
  return {
    runtimeStatus: 'STATUS$ERROR',
    error: {
      code: error.code,
      message: error.message,
      hint: 'When the sandbox is to be had, start the conversation again.',
    },
  };
}

function noRepositories(row: Conversation): CloneFailure {
  return {
    runtimeStatus: 'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR',
    error: {
      code: 'repository_not_found',
      message: `${row.gitProvider} is at no host of its own, and none is stored, so ${row.selectedRepository} is nowhere to be found.`,
      hint: 'Create the conversation again with another git_provider, or store its host with a token (POST /api/add-git-providers) and start the conversation again.',
    },
  };
}
