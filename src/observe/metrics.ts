import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Upper bounds in seconds: from a read out of memory to a request that somebody notices. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A disk that syncs in a fraction of a millisecond, to one that stalls. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];
const SANDBOX_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** How a run ended: the agent waits or is done, it failed, or somebody or the service stopped it. */
export type RunOutcome = 'done' | 'failed' | 'interrupted';

/** What one step of a model used. */
export interface StepUse {
  promptTokens: number;
  completionTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** US dollars. */
  cost: number;
}

/** Numbers that are there anyway, read whenever somebody asks. */
export interface Levels {
  runsRunning: () => number;
  queueDepth: () => number;
  sandboxesOpen: () => number;
  watchers: () => number;
}

/**
 * What the service measures of itself, for Prometheus. Labels are of a fixed, small set: never a user, an id, a path
 * or a name that somebody chose. docs/metrics.md lists the same names, and a test holds the two together.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = this.#histogram(
    'parley_http_request_duration_seconds',
    'Time to answer a request, by method, pattern of the route and status.',
    { buckets: REQUEST_SECONDS, labelNames: ['method', 'route', 'status'] },
  );
  readonly #runs = this.#counter('parley_runs_total', 'Runs that ended, by outcome.', ['outcome']);
  readonly #steps = this.#counter('parley_steps_total', 'Steps of agents.');
  readonly #tokens = this.#counter('parley_tokens_total', 'Tokens of model calls, by kind.', ['kind']);
  readonly #cost = this.#counter('parley_cost_usd_total', 'What model calls cost, in US dollars.');
  readonly #sandboxes = this.#histogram(
    'parley_sandbox_start_seconds',
    'Time to start a sandbox, of those that started.',
    { buckets: SANDBOX_SECONDS },
  );
  readonly #sandboxFailures = this.#counter(
    'parley_sandbox_start_failures_total',
    'Sandboxes that did not start.',
  );
  readonly #commits = this.#histogram(
    'parley_database_commit_seconds',
    'Time of a database commit, its writes included.',
    { buckets: COMMIT_SECONDS },
  );
  readonly #batches = this.#histogram('parley_database_batch_writes', 'Writes that shared a commit.', {
    buckets: BATCH_SIZES,
  });
  readonly #commitFailures = this.#counter(
    'parley_database_commit_failures_total',
    'Commits that failed, with all their writes.',
  );

  constructor() {
    for (const outcome of ['done', 'failed', 'interrupted']) this.#runs.inc({ outcome }, 0);
  }

  /** One answered request. The route is its pattern: paths would be without number. */
  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds);
  }

  runEnded(outcome: RunOutcome): void {
    this.#runs.inc({ outcome });
  }

  step(use: StepUse): void {
    this.#steps.inc();
    this.#tokens.inc({ kind: 'prompt' }, use.promptTokens);
    this.#tokens.inc({ kind: 'completion' }, use.completionTokens);
    this.#tokens.inc({ kind: 'cache_read' }, use.cacheReadTokens);
    this.#tokens.inc({ kind: 'cache_write' }, use.cacheWriteTokens);
    this.#cost.inc(use.cost);
  }

  sandboxStarted(seconds: number): void {
    this.#sandboxes.observe(seconds);
  }

  sandboxFailed(): void {
    this.#sandboxFailures.inc();
  }

  /** A batch of writes is on disk, or (`ok` false) is not. */
  committed(batch: { writes: number; seconds: number; ok: boolean }): void {
    if (!batch.ok) return this.#commitFailures.inc();
    this.#commits.observe(batch.seconds);
    this.#batches.observe(batch.writes);
  }

  /** Also gives these levels, and those of the process: once per process, as it listens to the runtime. */
  watch(levels: Levels): void {
    this.#gauge('parley_runs_running', 'Conversations being driven now.', levels.runsRunning);
    this.#gauge('parley_queue_depth', 'Conversations waiting for their turn.', levels.queueDepth);
    this.#gauge('parley_sandboxes_open', 'Sandboxes that are open.', levels.sandboxesOpen);
    this.#gauge('parley_watchers', 'Event streams that are open.', levels.watchers);
    collectDefaultMetrics({ register: this.#registry });
  }

  /** In the text format of Prometheus, version 0.0.4. */
  async text(): Promise<string> {
    return await this.#registry.metrics();
  }

  get names(): string[] {
    return this.#registry.getMetricsAsArray().map(({ name }) => name);
  }

  #counter<const Label extends string>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram<const Label extends string>(
    name: string,
    help: string,
    options: { buckets: number[]; labelNames?: Label[] },
  ) {
    return new Histogram({ name, help, registers: [this.#registry], ...options });
  }

  #gauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    });
  }
}
