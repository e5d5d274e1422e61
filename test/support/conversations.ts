import { ImageSource } from '../../src/model/images.ts';
import { Sight } from '../../src/model/sight.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { type Logger, pino } from 'pino';
import type { AgentContext, AgentOutcome } from '../../src/agent/context.ts';
import { serveUser } from '../../src/agent/run/run-agent.ts';
import { createKey, ensureUser } from '../../src/auth/keys.ts';
import type { Principal } from '../../src/auth/principal.ts';
import { ConversationService } from '../../src/conversations/service.ts';
import { ServiceError } from '../../src/errors.ts';
import { userMessage } from '../../src/events/build.ts';
import type { Event } from '../../src/events/event.ts';
import { WAITS_FOR_ITS_TURN } from '../../src/live/status.ts';
import { Subscriptions } from '../../src/live/subscriptions.ts';
import { Driver } from '../../src/runs/driver.ts';
import { InProcessQueue } from '../../src/runs/queue.ts';
import { Sandboxes } from '../../src/runs/sandboxes.ts';
import { stretchWith } from '../../src/runs/stretch.ts';
import { Sweep } from '../../src/runs/sweep.ts';
import type { SandboxProvider } from '../../src/sandbox/sandbox.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { Vault } from '../../src/secrets/vault.ts';
import type { RunSettings } from '../../src/settings/run-settings.ts';
import { openStorage, type Storage } from '../../src/storage/storage.ts';

export type Agent = (context: AgentContext) => Promise<AgentOutcome>;

/** Conversations over a real database, driven by an agent and in a sandbox that the test brings. */
export interface TestConversations {
  service: ConversationService;
  driver: Driver;
  sweep: Sweep;
  subscriptions: Subscriptions;
  storage: Storage;
  principal: Principal;
  /** What the next runs do. */
  agent: Agent;
  settings: RunSettings;
  /** Whether the disk takes nothing any more. */
  full: boolean;
  /** Whether new work may begin. */
  admitWork: () => Promise<void>;
  addUser(name: string): Promise<Principal>;
  events(id: string): Promise<Event[]>;
  /** Resolves when the conversation is as asked. */
  until(id: string, is: (view: Awaited<ReturnType<ConversationService['get']>>) => boolean): Promise<void>;
  /** Resolves when nobody drives the conversation and nothing wants it driven. */
  settled(id: string): Promise<void>;
  /** Ends it as a crash does: what is not on disk by now never will be. Another one may then start from what is left. */
  crash(): Promise<Remains>;
  close(): Promise<void>;
}

/** What a crash leaves. */
export interface Remains {
  dataDir: string;
  vault: Vault;
}

const SETTINGS: RunSettings = {
  agent: 'CodeActAgent',
  language: '',
  maxIterations: 100,
  maxBudget: null,
  condenser: true,
  confirmationMode: false,
  securityAnalyzer: null,
  model: { name: 'openai/test', baseUrl: null, apiKey: null },
  searchKey: null,
  mcpServers: [],
  customSecrets: {},
  tokens: [],
  providerHosts: {},
  identity: { name: 'Parley', email: 'parley@localhost' },
  solvabilityAnalysis: false,
  resourceFactor: 1,
  consentsToAnalytics: false,
  liveSecrets: [new Secret('a-live-secret')],
};

/** A place without commands: a conversation that needs one finds out why. */
export const NO_SANDBOX: SandboxProvider = {
  report: {
    kind: 'none',
    ok: false,
    reason: 'none in this test',
    checks: [],
    limits: { memory: 'none', processes: 'none', cpu: 'none', disk: 'none' },
  },
  open: () => Promise.reject(new Error('no sandbox in this test')),
  discard: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

export async function startConversations(
  options: {
    provider?: SandboxProvider;
    limits?: { perUser: number; total: number };
    from?: Remains;
    log?: Logger;
  } = {},
): Promise<TestConversations> {
  const dataDir = options.from?.dataDir ?? (await mkdtemp(join(tmpdir(), 'parley-runs-')));
  const vault = options.from?.vault ?? new Vault(randomBytes(32));
  const storage = await openStorage(dataDir, (key, events) => subscriptions.publish(key, events));
  const subscriptions = new Subscriptions((key, range) => storage.read.events.read(key, range));
  const { read } = storage;
  const sandboxes = new Sandboxes({
    provider: options.provider ?? NO_SANDBOX,
    confined: options.provider?.report.kind !== 'unconfined',
    directory: join(dataDir, 'workspaces'),
    most: 10,
    exists: async (key) => (await read.conversations.get(key)) !== undefined,
  });
  let crashed = false;
  const transact: typeof storage.transact = (work) => {
    if (crashed) return Promise.reject(new Error('crashed'));
    if (test.full) return Promise.reject(new ServiceError('storage_unavailable', 'The disk is full.'));
    return storage.transact(work);
  };
  const redact = (text: string): string => text.replaceAll('a-live-secret', '<secret_hidden>');
  const redactor = { redact, redactInTurns: (text: string) => Promise.resolve(redact(text)) };
  const driver = new Driver({
    read,
    transact,
    sandboxes,
    log: options.log ?? pino({ level: 'silent' }),
    stretch: stretchWith({
      read,
      transact,
      vault,
      sandboxes,
      limits: { memoryBytes: 2 ** 30, processes: 100, cpus: 1, diskBytes: 2 ** 30 },
      snapshot: () => Promise.resolve(test.settings),
      gitProvider: () => null,
      submodules: [],
      resolveModel: ({ name }) =>
        Promise.resolve({
          name,
          window: 128_000,
          key: null,
          images: new ImageSource(fetch),
          sight: new Sight(),
          open: () => Promise.reject(new Error('no model in this test')),
        }),
      runAgent: (context) => test.agent(context),
      serveUser,
      introductionOf: () => Promise.resolve(null),
      redactor: () => redactor,
      mcp: { begin: () => Promise.resolve(null) },
      notify: (key, status) => subscriptions.notify(key, status),
      timeouts: { modelMs: 60_000, runMs: 3_600_000 },
    }),
  });
  const queue = new InProcessQueue(
    (key) => driver.drive(key),
    options.limits ?? { perUser: 10, total: 100 },
    (key) => subscriptions.notify(key, WAITS_FOR_ITS_TURN),
  );
  const sweep = new Sweep({ read, transact, queue, drives: (key) => driver.drives(key) });
  const service = new ConversationService({
    read,
    transact,
    vault,
    watchers: subscriptions,
    drivers: {
      offer: (hint) => queue.offer(hint),
      withdraw: (key) => queue.withdraw(key),
      interrupt: (key, generation) => driver.interrupt(key, generation),
      release: (key) => sandboxes.close(key),
      discard: (key) => sandboxes.discard(key),
    },
    opening: (id, request) => ({
      title: request.initial_user_msg ?? `Conversation ${id.slice(0, 5)}`,
      message: request.initial_user_msg ? userMessage(request.initial_user_msg) : null,
    }),
    userAction: () => Promise.resolve({ ok: false, problem: 'there are no tools in this test' }),
    admitWork: () => test.admitWork(),
    redactor: () => Promise.resolve(redactor),
  });
  const addUser = (name: string): Promise<Principal> =>
    storage.transact(async ({ keys }) => {
      const user = await ensureUser(keys, name);
      await createKey(keys, user, { label: 'test', expiresAt: null });
      return { userId: user.id, userName: name, keyId: 'key' };
    });
  const end = async (): Promise<void> => {
    await driver.close();
    await queue.close();
    await sandboxes.closeAll();
    subscriptions.close();
    await storage.close();
  };
  const test: TestConversations = {
    service,
    driver,
    sweep,
    subscriptions,
    storage,
    principal: await addUser('default'),
    agent: () => Promise.resolve({ kind: 'waiting' }),
    settings: SETTINGS,
    full: false,
    admitWork: () => Promise.resolve(),
    addUser,
    events: async (id) => {
      const stored = await service.events(test.principal, id, { from: 0, limit: 1000, maxBytes: 1e9 });
      return stored.map(({ json }) => JSON.parse(json));
    },
    until: async (id, is) => {
      while (!is(await service.get(test.principal, id)))
        await new Promise((resolve) => setTimeout(resolve, 2));
    },
    settled: async (id) => {
      for (;;) {
        const row = await storage.read.conversations.find(test.principal.userId, id);
        if (row && row.driver === null && !row.wanted) return;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
    crash: async () => {
      crashed = true;
      await end();
      return { dataDir, vault };
    },
    close: async () => {
      await end();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return test;
}
