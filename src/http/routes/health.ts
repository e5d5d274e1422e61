import { statfs } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import type { FreeSpace } from '../../free-space.ts';
import { version } from '../../observe/version.ts';
import type { SandboxReport } from '../../sandbox/sandbox.ts';
import type { Routes } from '../fastify-types.ts';

const sandboxReport = z.object({
  kind: z.enum(['bubblewrap', 'unconfined', 'none']),
  ok: z.boolean(),
  reason: z.string(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  limits: z.record(z.string(), z.string()),
});

const ready = z.object({
  ready: z.boolean(),
  storage: z.object({ ok: z.boolean(), reason: z.string() }),
  disk: z.object({
    ok: z.boolean(),
    reason: z.string(),
    free: z.number().describe('Bytes left on the disk of the data directory.'),
    wanted: z.number().describe('Bytes that no new work may take.'),
  }),
  sandbox: sandboxReport,
});

const serverInfo = z.object({
  version: z.string(),
  uptime: z.number().describe('Seconds since the start.'),
  idle_time: z.number().describe('Seconds since the last request with a key.'),
  resources: z.object({
    cpu_count: z.number(),
    cpu_percent: z.number().describe('Of one processor, on average since the start.'),
    memory: z.object({ rss: z.number(), vms: z.number(), percent: z.number() }),
    disk: z.object({ total: z.number(), used: z.number(), free: z.number(), percent: z.number() }),
  }),
  sandbox: sandboxReport,
});

export interface HealthOptions {
  dataDir: string;
  /** Resolves when what can be had here has been tried. */
  sandbox: () => Promise<SandboxReport>;
  freeSpace: () => Promise<FreeSpace>;
  /** Writes something. Rejects when that cannot be done. */
  storageWorks: () => Promise<void>;
}

/** Milliseconds the outcome of a check is repeated: whoever asks often costs no more disk writes. */
const CHECK_MS = 2_000;

/** Whether the service lives, may be sent work, and how it stands. Open: probes have no key. */
export function healthRoutes({ dataDir, sandbox, freeSpace, storageWorks }: HealthOptions): Routes {
  return (server, _options, done) => {
    // Probes come every few seconds: only their failures are worth a line.
    const quiet = { config: { open: true }, logLevel: 'warn' } as const;
    const tags = ['health'];
    const checkStorage = remembered(() =>
      storageWorks().then(
        () => ({ ok: true, reason: '' }),
        (error: unknown) => {
          server.log.error({ err: error }, 'the storage check failed');
          const reason = error instanceof ServiceError ? error.message : 'The database cannot be written.';
          return { ok: false, reason };
        },
      ),
    );

    server.get(
      '/alive',
      {
        ...quiet,
        schema: { tags, summary: 'Is it up', response: { 200: z.object({ status: z.literal('ok') }) } },
      },
      () => ({ status: 'ok' as const }),
    );
    server.get(
      '/health',
      { ...quiet, schema: { tags, summary: 'Is it up (as V0)', response: { 200: z.string() } } },
      (_request, reply) => {
        // fastify would send a string as plain text; clients of V0 parse JSON.
        void reply.type('application/json').send(JSON.stringify('OK'));
      },
    );
    server.get(
      '/ready',
      { ...quiet, schema: { tags, summary: 'May it be sent work', response: { 200: ready, 503: ready } } },
      async (_request, reply) => {
        const storage = await checkStorage();
        const report = reportOf(await sandbox());
        const disk = await freeSpace();
        const isReady = storage.ok && disk.ok && report.ok;
        return reply.code(isReady ? 200 : 503).send({ ready: isReady, storage, disk, sandbox: report });
      },
    );
    server.get(
      '/server_info',
      { ...quiet, schema: { tags, summary: 'How it stands', response: { 200: serverInfo } } },
      async () => ({
        version,
        uptime: process.uptime(),
        idle_time: (performance.now() - server.activity.at) / 1000,
        resources: await resources(dataDir),
        sandbox: reportOf(await sandbox()),
      }),
    );
    done();
  };
}

function reportOf(report: SandboxReport): z.output<typeof sandboxReport> {
  return { ...report, checks: [...report.checks], limits: { ...report.limits } };
}

async function resources(dataDir: string) {
  const { rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const disk = await statfs(dataDir);
  const total = disk.blocks * disk.bsize;
  const free = disk.bavail * disk.bsize;
  const used = total - disk.bfree * disk.bsize;
  return {
    cpu_count: cpus().length,
    cpu_percent: percent((user + system) / 1e6, process.uptime()),
    memory: { rss, vms: process.memoryUsage().heapTotal, percent: percent(rss, totalmem()) },
    disk: { total, used, free, percent: percent(used, total) },
  };
}

function percent(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 1000) / 10 : 0;
}

function remembered<T>(check: () => Promise<T>): () => Promise<T> {
  let last: { at: number; outcome: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (!last || now - last.at > CHECK_MS) last = { at: now, outcome: check() };
    return last.outcome;
  };
}
