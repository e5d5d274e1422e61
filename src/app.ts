import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openingOf } from './agent/opening.ts';
import { Authenticator } from './auth/authenticator.ts';
import { ensureSessionKey, SESSION_KEY_FILE } from './auth/session-key.ts';
import { OnlyUser } from './auth/only-user.ts';
import type { App } from './cli/serve.ts';
import { type Config, isLoopback } from './config.ts';
import { ConversationService } from './conversations/service.ts';
import { prepareDataDirectory, workspacesIn } from './data-directory.ts';
import { guardedFetch } from './egress/guarded-fetch.ts';
import { sandboxPolicy, servicePolicy } from './egress/policy.ts';
import { cachedResolve } from './egress/resolver.ts';
import { every } from './every.ts';
import { keepFeedback } from './feedback/feedback.ts';
import { FileService } from './files/service.ts';
import { FreeSpaceGuard } from './free-space.ts';
import { gitProvider } from './git/git-providers.ts';
import { principalOf } from './http/auth.ts';
import { conversationRoutes } from './http/conversations.ts';
import { eventRoutes } from './http/events.ts';
import { feedbackRoutes } from './http/feedback.ts';
import { fileRoutes } from './http/files.ts';
import { microagentRoutes } from './http/git-microagents.ts';
import { gitRoutes } from './http/git.ts';
import { healthRoutes } from './http/health.ts';
import { loginRoutes } from './http/login.ts';
import { loginPage } from './http/login-page.ts';
import { mcpRoutes } from './http/mcp.ts';
import { optionsRoutes } from './http/options.ts';
import { providersRoutes } from './http/providers.ts';
import { rememberRoutes } from './http/remember.ts';
import { secretsRoutes } from './http/secrets.ts';
import { createHttpServer } from './http/server.ts';
import { settingsCheckRoutes } from './http/settings-check.ts';
import { settingsRoutes } from './http/settings.ts';
import { socketRoutes } from './http/sockets.ts';
import { LiveSockets } from './live/socketio.ts';
import { Subscriptions, WAITS_FOR_ITS_TURN } from './live/subscriptions.ts';
import { tavily } from './search/tavily.ts';
import type { Logger } from './observe/log.ts';
import { Analytics } from './observe/analytics.ts';
import { Metrics } from './observe/metrics.ts';
import { UserRepositories } from './repositories/user-repositories.ts';
import { Driver } from './runs/driver.ts';
import { measuredAgent, measuredProvider, measuredStretch } from './runs/measured.ts';
import { McpServers } from './runs/mcp-servers.ts';
import { mcpStatus } from './runs/mcp-view.ts';
import { notePushes } from './runs/noted-pushes.ts';
import { InProcessQueue } from './runs/queue.ts';
import { Retention } from './runs/retention.ts';
import { Sandboxes } from './runs/sandboxes.ts';
import { stretchWith } from './runs/stretch.ts';
import { Sweep } from './runs/sweep.ts';
import { Workspaces } from './runs/workspaces.ts';
import { type GatewayOptions, startGateway } from './sandbox/gateway/gateway.ts';
import { type GitFront, gitFrontConfig } from './sandbox/gateway/git-front.ts';
import { LeftBehind } from './sandbox/left-behind.ts';
import { runDirectoryOf } from './sandbox/run-directory.ts';
import type { SandboxProvider } from './sandbox/sandbox.ts';
import { sandboxNotice } from './sandbox/notice.ts';
import { whileOpening } from './sandbox/opening.ts';
import { selectSandbox } from './sandbox/select.ts';
import { KEY_FILE, OLD_KEY_FILE, openToOthers, openVault } from './secrets/key-file.ts';
import type { Secret } from './secrets/secret.ts';
import { Redactor } from './secrets/redactor.ts';
import type { RunSettings } from './settings/run-settings.ts';
import { SettingsService } from './settings/service.ts';
import { lockDataDirectory, openStorage, type Storage } from './storage/storage.ts';

/** Milliseconds between two looks for conversations that have to be driven and are not. */
const SWEEP_MS = 15_000;
/** Milliseconds between two looks for conversations that nobody has touched for long, and how many end at once. */
const IDLE_MS = 30_000;
const IDLE_AT_ONCE = 20;
/** Milliseconds between two looks for what killed services have left. */
const LEFT_BEHIND_MS = 60_000;
/** Milliseconds between two looks for conversations that are old enough to be removed, and of a day. */
const RETENTION_MS = 15 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** For MCP servers: a call may take an hour, and a stream of events may be silent for as long as it likes. */
const PATIENT_FETCH = { headersTimeoutMs: 3_660_000, bodyTimeoutMs: 0 };

/** What stands in the place of the world around the service, where a test says so. */
export interface World {
  /** How the service reaches the addresses that users give. */
  fetch?: typeof guardedFetch;
  /** {@link HttpOptions.arrivalMs} */
  arrivalMs?: number;
}

/** Puts the service together: the only place that knows every part. Nothing is reachable before `listen`. */
export async function build(
  config: Config,
  log: Logger,
  world: World = {},
): Promise<App & { server: FastifyInstance }> {
  prepareDataDirectory(config.dataDir);
  const lock = lockDataDirectory(config.dataDir);
  const metrics = new Metrics();
  const storage = await openStorage(
    config.dataDir,
    (conversation, events) => subscriptions.publish(conversation, events),
    {
      onAudited: (entry) => log.info({ audit: true, ...entry }, 'audit'),
      onMeasured: (batch) => metrics.committed(batch),
    },
  );
  const subscriptions = new Subscriptions((conversation, range) =>
    storage.read.events.read(conversation, range),
  );
  const { read, transact } = storage;
  const vault = await openVault({
    dataDir: config.dataDir,
    given: config.secretKey,
    previous: config.previousSecretKey,
    sentinel: {
      get: (name) => read.meta.get(name),
      set: (name, value) => transact(({ meta }) => meta.set(name, value)),
    },
  });
  const { made, file } = await ensureSessionKey({
    dataDir: config.dataDir,
    given: config.sessionApiKey,
    transact,
  });
  for (const name of [KEY_FILE, OLD_KEY_FILE, SESSION_KEY_FILE]) {
    const open = openToOthers(join(config.dataDir, name));
    if (open) log.warn(`${open.detail}. ${open.advice}`);
  }
  const freeSpace = new FreeSpaceGuard(config.dataDir, config.minFreeSpace);
  const auth = new Authenticator(read.keys, transact, (error) =>
    log.error({ err: error }, 'the last use of keys was not stored'),
  );
  const onlyUser = new OnlyUser(read.keys);
  await onlyUser.look();

  const policy = servicePolicy({
    privateAllowed: () => onlyUser.alone,
    allowPrivateHosts: config.allowPrivateHosts,
  });
  const fetch = (world.fetch ?? guardedFetch)(policy);
  // Where the operator says himself where to call, that may be anywhere but at what is never called.
  const fetchForOperator = (world.fetch ?? guardedFetch)(
    servicePolicy({ privateAllowed: () => true, allowPrivateHosts: config.allowPrivateHosts }),
  );
  const settings = new SettingsService({ read: read.settings, transact, vault, fetch });
  const analytics = new Analytics({
    url: config.analyticsUrl,
    fetch: fetchForOperator,
    consents: async (userId) => (await settings.snapshot(userId)).consentsToAnalytics,
    failed: (error) => log.debug({ err: error }, 'analytics were not sent'),
  });
  const redactorFor = async (userId: string) => redactorOf(await settings.snapshot(userId));
  const note = notePushes({ read, transact, redactor: redactorFor });
  // It tries what this host can do, by programs of its own, while the rest is put together.
  const opening = openSandboxes(config, policy, log, {
    pushRules: {
      policy: config.pushPolicy,
      made: async (conversation, refs) => new Set(await read.conversations.madeRefs(conversation, refs)),
    },
    pushed: (push) => note(push).catch((error: unknown) => log.error({ err: error }, 'a push was not noted')),
  });
  const provider = whileOpening(opening);
  const sandboxes = new Sandboxes({
    provider: measuredProvider(provider, metrics),
    directory: workspacesIn(config.dataDir),
    most: 2 * config.maxRunning.inAll,
    exists: async (key) => (await read.conversations.get(key)) !== undefined,
  });
  await sandboxes.removeDrafts();
  const fetchForMcp = (world.fetch ?? guardedFetch)(policy, PATIENT_FETCH);
  const mcp = new McpServers({
    fetch: fetchForMcp,
    timeouts: {
      connectMs: config.mcp.connectSeconds * 1000,
      retryMs: Math.min(config.mcp.connectSeconds, 5) * 1000,
      callMs: config.mcp.callSeconds * 1000,
    },
    notify: (conversation, status) => subscriptions.notify(conversation, status),
  });
  const driver = new Driver({
    read,
    transact,
    sandboxes,
    log,
    stretch: measuredStretch(
      stretchWith({
        read,
        transact,
        vault,
        sandboxes,
        limits: config.sandbox.limits,
        snapshot: (userId) => settings.snapshot(userId),
        resolveModel: async (model) =>
          (await import('./model/resolve.ts')).resolveModel(model, fetch, config.modelWindow),
        search: (key) => tavily(config.searchUrl, key, fetchForOperator),
        submodules: config.submodules,
        gitProvider: (at) => gitProvider({ ...at, fetch }),
        runAgent: measuredAgent(
          async (context) => await (await import('./agent/run-agent.ts')).runAgent(context),
          metrics,
        ),
        introductionOf: async (context) =>
          await (await import('./agent/run-agent.ts')).introductionOf(context),
        redactor: redactorOf,
        ran: (userId, facts) => analytics.runEnded(userId, facts),
        mcp,
        notify: (conversation, status) => subscriptions.notify(conversation, status),
        timeouts: {
          modelMs: config.timeouts.modelSeconds * 1000,
          runMs: config.timeouts.runSeconds * 1000,
        },
      }),
      metrics,
    ),
  });
  const queue = new InProcessQueue(
    (key) => driver.drive(key),
    { perUser: config.maxRunning.perUser, total: config.maxRunning.inAll },
    (key) => subscriptions.notify(key, WAITS_FOR_ITS_TURN),
  );
  const sweep = new Sweep({ read, transact, queue, drives: (key) => driver.drives(key) });
  const conversations = new ConversationService({
    read,
    transact,
    vault,
    watchers: subscriptions,
    drivers: {
      offer: (hint) => queue.offer(hint),
      interrupt: (key, generation) => driver.interrupt(key, generation),
      release: async (key) => {
        await mcp.close(key);
        await sandboxes.close(key);
      },
      discard: (key) => sandboxes.discard(key),
    },
    opening: openingOf,
    userAction: async (name, args) => (await import('./agent/user-action.ts')).userAction(name, args),
    admitWork: () => freeSpace.admit(),
    redactor: async (userId, own) => redactorOf(await settings.snapshot(userId), own),
  });

  metrics.watch({
    runsRunning: () => driver.running,
    queueDepth: () => queue.waiting,
    sandboxesOpen: () => sandboxes.size,
    watchers: () => subscriptions.size,
  });

  const files = new FileService({
    conversations: read.conversations,
    workspaces: new Workspaces(sandboxes, config.sandbox.limits),
    admitWork: () => freeSpace.admit(),
  });

  const repositories = new UserRepositories({
    access: (userId) => settings.gitAccess(userId),
    open: (token) => gitProvider({ ...token, fetch }),
  });

  const server = await createHttpServer({
    auth,
    log,
    rateLimit: config.rateLimit,
    corsOrigins: config.corsOrigins,
    webDir: config.webDir,
    ...(world.arrivalMs !== undefined && { arrivalMs: world.arrivalMs }),
    metrics,
    place: {
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      allowedHosts: config.allowedHosts,
      loopback: isLoopback(config.host),
    },
  });
  for (const routes of [
    loginRoutes(auth),
    loginPage,
    healthRoutes({
      dataDir: config.dataDir,
      sandbox: () => provider.report,
      freeSpace: () => freeSpace.look(),
      storageWorks: () => storageWorks(storage),
    }),
    settingsRoutes(settings),
    settingsCheckRoutes(settings, async (model, signal) =>
      (await import('./model/check.ts')).checkModel(model, fetch, signal),
    ),
    secretsRoutes(settings),
    providersRoutes(settings),
    gitRoutes(repositories),
    microagentRoutes(repositories),
    optionsRoutes(async () => (await import('./model/price.ts')).listModels()),
    conversationRoutes(conversations),
    mcpRoutes(conversations, (conversation) =>
      mcpStatus(
        {
          read,
          vault,
          snapshot: (userId) => settings.snapshot(userId),
          redactor: redactorOf,
          servers: mcp,
        },
        conversation,
      ),
    ),
    fileRoutes(files, conversations),
    rememberRoutes(conversations),
    feedbackRoutes((...given) => keepFeedback(transact, ...given)),
    eventRoutes({
      service: conversations,
      subscriptions,
      stillAllowed: (request) =>
        principalOf(request, auth).then(
          () => true,
          () => false,
        ),
    }),
    socketRoutes({
      auth,
      service: conversations,
      sockets: new LiveSockets({
        subscriptions,
        onError: (error) => log.error({ err: error }, 'a socket failed'),
      }),
    }),
  ]) {
    await server.register(routes);
  }

  const timers = new AbortController();
  const leftBehind = new LeftBehind(runDirectoryOf(config.dataDir));
  const retention = new Retention({
    read,
    transact,
    sandboxes,
    limits: config.sandbox.limits,
    directory: join(config.dataDir, 'bundles'),
    log,
  });
  const { keepDays } = config;
  const removeOld = async (): Promise<void> => {
    if (keepDays === null) return;
    await retention.remove(new Date(Date.now() - keepDays * DAY_MS), timers.signal);
  };
  const { report } = await opening;
  const notice = sandboxNotice(report);
  log[notice.level]({ sandbox: report.kind }, notice.text);
  return {
    server,
    newKey: made && { key: made, file },
    listen: async () => {
      const url = await server.listen({ host: config.host, port: config.port });
      const failed = (error: unknown): void => log.error({ err: error }, 'a periodic task failed');
      every(1_000, () => onlyUser.look(), { signal: timers.signal, failed });
      // The command line disables and erases users beside us.
      every(1_000, () => conversations.stopDisabled(), { signal: timers.signal, failed });
      every(1_000, () => conversations.finishRemovals(), { signal: timers.signal, failed });
      every(SWEEP_MS, () => sweep.sweep(), { signal: timers.signal, failed });
      every(LEFT_BEHIND_MS, () => leftBehind.look(), { signal: timers.signal, failed });
      every(RETENTION_MS, removeOld, { signal: timers.signal, failed });
      every(
        IDLE_MS,
        async () => {
          const before = new Date(Date.now() - config.idleStopSeconds * 1000);
          await conversations.stopIdle(before, IDLE_AT_ONCE);
        },
        { signal: timers.signal, failed },
      );
      await conversations.finishRemovals().catch(failed);
      // What a full disk does not let through now, the sweep takes up later.
      await sweep.recover().catch(failed);
      void removeOld().catch(failed);
      void leftBehind.look().catch(failed);
      return url;
    },
    close: async () => {
      timers.abort();
      subscriptions.close();
      const closed = server.close();
      await driver.close();
      await queue.close();
      await mcp.closeAll();
      await sandboxes.closeAll();
      await provider.close();
      await closed;
      await auth.close();
      await analytics.close();
      await fetch.close();
      await fetchForMcp.close();
      await fetchForOperator.close();
      await storage.close();
      lock.release();
    },
  };
}

function openSandboxes(
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

/** @param own secrets that one conversation brought along */
function redactorOf(settings: RunSettings, own: readonly Secret[] = []): (text: string) => string {
  const tokens = settings.tokens.map(({ token }) => token);
  const redactor = new Redactor([...settings.liveSecrets, ...own], tokens);
  return (text) => redactor.redact(text);
}

async function storageWorks({ transact }: Storage): Promise<void> {
  await transact(({ meta }) => meta.set('last-ready-check', new Date().toISOString()));
}
