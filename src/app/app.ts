import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openingOf } from '../agent/opening.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { OnlyUser } from '../auth/only-user.ts';
import { ensureSessionKey, SESSION_KEY_FILE } from '../auth/session-key.ts';
import type { App } from '../cli/serve.ts';
import { type Config, isLoopback } from '../config.ts';
import { ConversationService } from '../conversations/service.ts';
import { prepareDataDirectory, workspacesIn } from '../data-directory.ts';
import type { guardedFetch } from '../egress/guarded-fetch.ts';
import { FreeSpaceGuard } from '../free-space.ts';
import { createHttpServer } from '../http/server.ts';
import { Subscriptions } from '../live/subscriptions.ts';
import { Analytics } from '../observe/analytics.ts';
import type { Logger } from '../observe/log.ts';
import { Metrics } from '../observe/metrics.ts';
import { measuredProvider } from '../runs/measured.ts';
import { notePushes } from '../runs/noted-pushes.ts';
import { Sandboxes } from '../runs/sandboxes.ts';
import { Sweep } from '../runs/sweep.ts';
import { sandboxNotice } from '../sandbox/notice.ts';
import { whileOpening } from '../sandbox/opening.ts';
import type { SandboxProvider } from '../sandbox/sandbox.ts';
import { KEY_FILE, OLD_KEY_FILE, openToOthers, openVault } from '../secrets/key-file.ts';
import { SettingsService } from '../settings/service.ts';
import { lockDataDirectory, openStorage } from '../storage/storage.ts';
import { driving } from './driving.ts';
import { openSandboxes } from './open-sandboxes.ts';
import { outgoing as outgoingBy } from './outgoing.ts';
import { routesOf } from './routes.ts';
import { Upkeep } from './upkeep.ts';

/** What stands in the place of the world around the service, where a test says so. */
export interface World {
  /** How the service reaches the addresses that users give. */
  fetch?: typeof guardedFetch;
  /** What tries whether sandboxes can be had. */
  openSandboxes?: typeof openSandboxes;
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
  const onlyUser = new OnlyUser(read.keys);
  await onlyUser.look();
  const auth = new Authenticator(
    read.keys,
    transact,
    (error) => log.error({ err: error }, 'the last use of keys was not stored'),
    { admitted: (principal) => onlyUser.saw(principal) },
  );

  const outgoing = outgoingBy(config, () => onlyUser.alone, world.fetch, world.fetch);
  const settings = new SettingsService({ read: read.settings, transact, vault, fetch: outgoing.plainFetch });
  const analytics = new Analytics({
    url: config.analyticsUrl,
    fetch: outgoing.fetchForOperator,
    consents: async (userId) => (await settings.snapshot(userId)).consentsToAnalytics,
    failed: (error) => log.debug({ err: error }, 'analytics were not sent'),
  });
  const note = notePushes({ read, transact, redactor: (userId) => settings.redactor(userId) });
  // It tries what this host can do, by programs of its own, while the rest is put together.
  const opening = (world.openSandboxes ?? openSandboxes)(config, outgoing.policy, log, {
    pushRules: {
      policy: config.pushPolicy,
      made: async (conversation, refs) => new Set(await read.madeRefs.among(conversation, refs)),
    },
    pushed: (push) => note(push).catch((error: unknown) => log.error({ err: error }, 'a push was not noted')),
  });
  const provider = whileOpening(opening);
  const sandboxes = new Sandboxes({
    provider: measuredProvider(provider, metrics),
    confined: config.sandbox.kind !== 'unconfined',
    directory: workspacesIn(config.dataDir),
    most: 2 * config.maxRunning.inAll,
    exists: async (key) => (await read.conversations.get(key)) !== undefined,
  });
  await sandboxes.removeDrafts();
  const { queue, driver, mcp } = driving({
    config,
    log,
    metrics,
    storage,
    vault,
    subscriptions,
    settings,
    outgoing,
    analytics,
    sandboxes,
  });
  const sweep = new Sweep({ read, transact, queue, drives: (key) => driver.drives(key) });
  const conversations = new ConversationService({
    read,
    transact,
    vault,
    watchers: subscriptions,
    drivers: {
      offer: (hint) => queue.offer(hint),
      withdraw: (key) => queue.withdraw(key),
      interrupt: (key, generation) => driver.interrupt(key, generation),
      release: async (key) => {
        await mcp.close(key);
        await sandboxes.close(key);
      },
      discard: (key) => sandboxes.discard(key),
    },
    opening: openingOf,
    userAction: async (name, args) => (await import('../agent/user-action.ts')).userAction(name, args),
    admitWork: () => freeSpace.admit(),
    redactor: (userId, own) => settings.redactor(userId, own),
  });

  metrics.watch({
    runsRunning: () => driver.running,
    queueDepth: () => queue.waiting,
    sandboxesOpen: () => sandboxes.size,
    watchers: () => subscriptions.size,
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
  const parts = { config, log, storage, vault, freeSpace, auth, outgoing, settings, subscriptions };
  const sandboxReport = async () => (await opening).report;
  for (const routes of routesOf({ ...parts, sandboxReport, sandboxes, mcp, conversations })) {
    await server.register(routes);
  }
  const upkeep = new Upkeep({ config, log, storage, onlyUser, conversations, sandboxes, sweep });

  // Not awaited: on a busy machine the trial takes seconds, and only what needs a sandbox has to wait for it.
  void tellSandbox(opening, log);
  return {
    server,
    newKey: made && { key: made, file },
    listen: async () => {
      const url = await server.listen({ host: config.host, port: config.port });
      await upkeep.begin();
      return url;
    },
    close: async () => {
      upkeep.end();
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
      await outgoing.close();
      await storage.close();
      lock.release();
    },
  };
}

async function tellSandbox(opening: Promise<SandboxProvider>, log: Logger): Promise<void> {
  const { report } = await opening;
  const { level, text } = sandboxNotice(report);
  log[level]({ sandbox: report.kind }, text);
}
