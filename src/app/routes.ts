import type { Authenticator } from '../auth/authenticator.ts';
import type { Config } from '../config.ts';
import type { ConversationService } from '../conversations/service.ts';
import { keepFeedback } from '../feedback/feedback.ts';
import { FileService } from '../files/service.ts';
import type { FreeSpaceGuard } from '../free-space.ts';
import { gitProvider } from '../git/git-providers.ts';
import { principalOf } from '../http/auth.ts';
import { conversationRoutes } from '../http/routes/conversations.ts';
import { eventRoutes } from '../http/routes/events.ts';
import { feedbackRoutes } from '../http/routes/feedback.ts';
import { fileRoutes } from '../http/routes/files.ts';
import { microagentRoutes } from '../http/routes/git-microagents.ts';
import { gitRoutes } from '../http/routes/git.ts';
import { healthRoutes } from '../http/routes/health.ts';
import { loginRoutes } from '../http/routes/login.ts';
import { loginPage } from '../http/routes/login-page.ts';
import { mcpRoutes } from '../http/routes/mcp.ts';
import { optionsRoutes } from '../http/routes/options.ts';
import { providersRoutes } from '../http/routes/providers.ts';
import { rememberRoutes } from '../http/routes/remember.ts';
import type { Routes } from '../http/fastify-types.ts';
import { secretsRoutes } from '../http/routes/secrets.ts';
import { settingsCheckRoutes } from '../http/routes/settings-check.ts';
import { settingsRoutes } from '../http/routes/settings.ts';
import { socketRoutes } from '../http/sockets.ts';
import { LiveSockets } from '../live/socketio.ts';
import type { Subscriptions } from '../live/subscriptions.ts';
import type { Logger } from '../observe/log.ts';
import { UserRepositories } from '../repositories/user-repositories.ts';
import type { McpServers } from '../runs/mcp-servers.ts';
import { mcpStatus } from '../runs/mcp-view.ts';
import type { Sandboxes } from '../runs/sandboxes.ts';
import { Workspaces } from '../runs/workspaces.ts';
import type { SandboxReport } from '../sandbox/sandbox.ts';
import type { Vault } from '../secrets/vault.ts';
import { redactorOf } from '../settings/redactor-of.ts';
import type { SettingsService } from '../settings/service.ts';
import type { Storage } from '../storage/storage.ts';
import type { Outgoing } from './outgoing.ts';

interface Parts {
  config: Config;
  log: Logger;
  storage: Storage;
  vault: Vault;
  freeSpace: FreeSpaceGuard;
  auth: Authenticator;
  outgoing: Outgoing;
  settings: SettingsService;
  subscriptions: Subscriptions;
  /** What can be had here, once it has been tried. */
  sandboxReport: () => Promise<SandboxReport>;
  sandboxes: Sandboxes;
  mcp: McpServers;
  conversations: ConversationService;
}

/** Everything that is served, each resource with what it needs. */
export function routesOf(parts: Parts): readonly Routes[] {
  const { config, log, storage, vault, freeSpace, auth, settings, subscriptions, conversations } = parts;
  const { plainFetch, fetchForModels } = parts.outgoing;
  const files = new FileService({
    conversations: storage.read.conversations,
    workspaces: new Workspaces(parts.sandboxes, config.sandbox.limits),
    admitWork: () => freeSpace.admit(),
  });
  const repositories = new UserRepositories({
    access: (userId) => settings.gitAccess(userId),
    open: (token) => gitProvider({ ...token, fetch: plainFetch }),
  });
  const ofServers = {
    read: storage.read,
    vault,
    snapshot: (userId: string) => settings.snapshot(userId),
    redactor: redactorOf,
    servers: parts.mcp,
  };
  const sockets = new LiveSockets({
    subscriptions,
    onError: (error) => log.error({ err: error }, 'a socket failed'),
  });
  return [
    loginRoutes(auth),
    loginPage,
    healthRoutes({
      dataDir: config.dataDir,
      sandbox: parts.sandboxReport,
      freeSpace: () => freeSpace.look(),
      storageWorks: () => storageWorks(storage),
    }),
    settingsRoutes(settings),
    settingsCheckRoutes(settings, async (model, signal) =>
      (await import('../model/check.ts')).checkModel(model, fetchForModels, signal),
    ),
    secretsRoutes(settings),
    providersRoutes(settings),
    gitRoutes(repositories),
    microagentRoutes(repositories),
    optionsRoutes(async () => (await import('../model/price.ts')).listModels()),
    conversationRoutes(conversations),
    mcpRoutes(conversations, (conversation) => mcpStatus(ofServers, conversation)),
    fileRoutes(files, conversations),
    rememberRoutes(conversations),
    feedbackRoutes((...given) => keepFeedback(storage.transact, ...given)),
    eventRoutes({
      service: conversations,
      subscriptions,
      stillAllowed: (request) =>
        principalOf(request, auth).then(
          () => true,
          () => false,
        ),
    }),
    socketRoutes({ auth, service: conversations, sockets }),
  ];
}

async function storageWorks({ transact }: Storage): Promise<void> {
  await transact(({ meta }) => meta.set('last-ready-check', new Date().toISOString()));
}
