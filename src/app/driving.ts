import type { Config } from '../config.ts';
import { gitProvider } from '../git/git-providers.ts';
import { WAITS_FOR_ITS_TURN } from '../live/status.ts';
import type { Subscriptions } from '../live/subscriptions.ts';
import type { Analytics } from '../observe/analytics.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Driver } from '../runs/driver.ts';
import { McpServers } from '../runs/mcp-servers.ts';
import { measuredAgent, measuredStretch } from '../runs/measured.ts';
import { InProcessQueue } from '../runs/queue.ts';
import type { Sandboxes } from '../runs/sandboxes.ts';
import { stretchWith } from '../runs/stretch.ts';
import { tavily } from '../search/tavily.ts';
import type { Vault } from '../secrets/vault.ts';
import { redactorOf } from '../settings/redactor-of.ts';
import type { SettingsService } from '../settings/service.ts';
import type { Storage } from '../storage/storage.ts';
import type { Outgoing } from './outgoing.ts';

interface Parts {
  config: Config;
  log: Logger;
  metrics: Metrics;
  storage: Storage;
  vault: Vault;
  subscriptions: Subscriptions;
  settings: SettingsService;
  outgoing: Outgoing;
  analytics: Analytics;
  sandboxes: Sandboxes;
}

/** What drives conversations: the queue they wait in, the driver, and the MCP servers of those that run. */
export function driving(parts: Parts): { queue: InProcessQueue; driver: Driver; mcp: McpServers } {
  const { config, log, metrics, vault, subscriptions, settings, analytics, sandboxes } = parts;
  const { read, transact } = parts.storage;
  const { plainFetch, fetchForModels, fetchForMcp, fetchForOperator } = parts.outgoing;
  const notify: Subscriptions['notify'] = (conversation, status) =>
    subscriptions.notify(conversation, status);
  const mcp = new McpServers({
    fetch: fetchForMcp,
    timeouts: {
      connectMs: config.mcp.connectSeconds * 1000,
      retryMs: Math.min(config.mcp.connectSeconds, 5) * 1000,
      callMs: config.mcp.callSeconds * 1000,
    },
    notify,
  });
  const stretch = stretchWith({
    read,
    transact,
    vault,
    sandboxes,
    limits: config.sandbox.limits,
    snapshot: (userId) => settings.snapshot(userId),
    resolveModel: async (model) =>
      (await import('../model/resolve.ts')).resolveModel(model, fetchForModels, config.modelWindow),
    search: (key) => tavily(config.searchUrl, key, fetchForOperator),
    submodules: config.submodules,
    gitProvider: (at) => gitProvider({ ...at, fetch: plainFetch }),
    runAgent: measuredAgent(
      async (context) => await (await import('../agent/run/run-agent.ts')).runAgent(context),
      metrics,
    ),
    serveUser: async (context) => await (await import('../agent/run/run-agent.ts')).serveUser(context),
    introductionOf: async (context) =>
      await (await import('../agent/run/run-agent.ts')).introductionOf(context),
    redactor: redactorOf,
    ran: (userId, facts) => analytics.runEnded(userId, facts),
    mcp,
    notify,
    timeouts: {
      modelMs: config.timeouts.modelSeconds * 1000,
      runMs: config.timeouts.runSeconds * 1000,
    },
  });
  const driver = new Driver({ read, transact, sandboxes, log, stretch: measuredStretch(stretch, metrics) });
  const queue = new InProcessQueue(
    (key) => driver.drive(key),
    { perUser: config.maxRunning.perUser, total: config.maxRunning.inAll },
    (key) => notify(key, WAITS_FOR_ITS_TURN),
  );
  return { queue, driver, mcp };
}
