import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Upper bounds in seconds: from a read out of memory to a request that somebody notices. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  labels: string;
  /** By bucket; the last is for all above. */
  counts: number[];
  sum: number;
}

interface Gauge {
  name: string;
  help: string;
  type: 'gauge' | 'counter';
  read: () => number;
}

/** What the service measures of itself, in the text format of Prometheus (version 0.0.4). */
export class Metrics {
  readonly #requests = new Map<string, Series>();
  readonly #gauges: Gauge[] = [];
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });

  constructor() {
    this.#delay.enable();
    const started = Date.now() / 1000 - process.uptime();
    this.add('process_start_time_seconds', 'Start of the process since the epoch.', () => started);
    this.add('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
    this.add('nodejs_heap_size_used_bytes', 'Used heap.', () => process.memoryUsage().heapUsed);
    this.add(
      'nodejs_eventloop_lag_p99_seconds',
      'Delay of the event loop, 99th percentile since last read.',
      () => this.#takeDelay(),
    );
    this.add('process_cpu_seconds_total', 'Processor time, user and system.', cpuSeconds, 'counter');
  }

  /** One more number, read whenever somebody asks. */
  add(name: string, help: string, read: () => number, type: Gauge['type'] = 'gauge'): void {
    this.#gauges.push({ name, help, type, read });
  }

  /** One answered request. The route is its pattern: paths would be without number. */
  request(method: string, route: string, status: number, seconds: number): void {
    const labels = `method="${method}",route="${escaped(route)}",status="${status}"`;
    let series = this.#requests.get(labels);
    if (!series) {
      series = { labels, counts: Array<number>(BUCKETS.length + 1).fill(0), sum: 0 };
      this.#requests.set(labels, series);
    }
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    const at = bucket === -1 ? BUCKETS.length : bucket;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  text(): string {
    const lines = this.#gauges.flatMap(({ name, help, type, read }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      `${name} ${read()}`,
    ]);
    const name = 'parley_http_request_duration_seconds';
    lines.push(`# HELP ${name} Time to answer a request.`, `# TYPE ${name} histogram`);
    for (const series of this.#requests.values()) lines.push(...histogram(name, series));
    return `${lines.join('\n')}\n`;
  }

  close(): void {
    this.#delay.disable();
  }

  #takeDelay(): number {
    const seconds = this.#delay.percentile(99) / 1e9;
    this.#delay.reset();
    return seconds;
  }
}

function histogram(name: string, { labels, counts, sum }: Series): string[] {
  let total = 0;
  const lines = counts.map((count, at) => {
    total += count;
    return `${name}_bucket{${labels},le="${BUCKETS[at] ?? '+Inf'}"} ${total}`;
  });
  return [...lines, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${total}`];
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
