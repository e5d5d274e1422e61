import type { Config } from '../config.ts';
import { workspacesIn } from '../data-directory.ts';
import { sandboxPolicy, type servicePolicy } from '../egress/policy.ts';
import { cachedResolve } from '../egress/resolver.ts';
import type { Logger } from '../observe/log.ts';
import { type GatewayOptions, startGateway } from '../sandbox/gateway/gateway.ts';
import { type GitFront, gitFrontConfig } from '../sandbox/gateway/git-front.ts';
import { runDirectoryOf } from '../sandbox/run-directory.ts';
import type { SandboxProvider } from '../sandbox/sandbox.ts';
import { selectSandbox } from '../sandbox/select.ts';
import { Redactor } from '../secrets/redactor.ts';
import type { Secret } from '../secrets/secret.ts';

/** @param frontPolicy where the git front may call, which is where the service itself may */
export function openSandboxes(
  config: Config,
  frontPolicy: ReturnType<typeof servicePolicy>,
  log: Logger,
  pushes: Required<Pick<GatewayOptions, 'pushRules' | 'pushed'>>,
): Promise<SandboxProvider> {
  const { kind, uidBase, readOnlyPaths, allowHosts } = config.sandbox;
  const policy = sandboxPolicy({ allowHosts });
  // One cache for all sandboxes: fifty programs that ask for the same name ask the system once.
  const resolve = cachedResolve();
  const tell = (line: string): void => log.warn({ from: 'sandbox' }, line);
  return selectSandbox(kind, {
    runDir: runDirectoryOf(config.dataDir),
    workspaces: workspacesIn(config.dataDir),
    uidBase,
    extraReadOnlyPaths: readOnlyPaths,
    caFile: config.caFile,
    startGateway: (socketPath: string, front: GitFront | null, secrets: readonly Secret[]) => {
      // A program inside may ask for a host that it calls by a secret.
      const redactor = new Redactor(secrets);
      const log = (line: string): void => tell(redactor.redact(line));
      return startGateway({ socketPath, front, policy, frontPolicy, resolve, log, ...pushes });
    },
    gitConfig: gitFrontConfig,
    log: tell,
  });
}
