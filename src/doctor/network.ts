import { lookup } from 'node:dns/promises';
import type { Config } from '../config.ts';
import { type Check, fail, ok, warn } from './check.ts';

const PATIENCE_MS = 5_000;

/** Whether a server of ours answers where this configuration would listen. */
export async function checkServer({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Check[]> {
  const name = 'server';
  if (port === 0) return [ok(name, 'PORT is 0: where one listens is not known beforehand')];
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}/alive`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'error' });
    const body: unknown = await response.json().catch(() => null);
    const alive = typeof body === 'object' && body !== null && 'status' in body && body.status === 'ok';
    if (alive) return [ok(name, `one answers at ${url}`)];
    return [
      warn(name, `another program answers at ${url}`, 'Choose another PORT, or end what listens there.'),
    ];
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'ECONNREFUSED') return [ok(name, `none runs at ${url}; the port is free`)];
    const advice = 'Look at its log; where none is to run, end what listens there.';
    return [warn(name, `${url} gives no answer (${code || 'none in time'})`, advice)];
  }
}

/** Well-known hosts, of which a working machine reaches at least one of each kind. Nothing is sent to them but a HEAD. */
const OUTSIDE: Readonly<Record<string, readonly string[]>> = {
  'model providers': ['api.openai.com', 'api.anthropic.com', 'openrouter.ai'],
  'git providers': ['github.com', 'gitlab.com', 'bitbucket.org'],
};

/** Names and HTTPS to the outside; called only when it was asked for. */
export async function checkOutside(): Promise<Check[]> {
  return await Promise.all(
    Object.entries(OUTSIDE).map(async ([kind, hosts]) => {
      const found = await Promise.all(hosts.map(reach));
      const reached = found.filter(({ problem }) => problem === null).map(({ host }) => host);
      const said = found.map(({ host, problem }) => `${host} ${problem ?? 'answers'}`).join(', ');
      if (reached.length > 0) return ok(kind, said);
      const advice =
        'Who works with hosts of their own needs none of these; else look at DNS, the firewall, and NODE_EXTRA_CA_CERTS.';
      return warn(kind, said, advice);
    }),
  );
}

async function reach(host: string): Promise<{ host: string; problem: string | null }> {
  try {
    await lookup(host);
  } catch {
    return { host, problem: 'has no address here' };
  }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await fetch(`https://${host}/`, { method: 'HEAD', redirect: 'manual', signal });
    return { host, problem: null };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null;
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer in time';
    return { host, problem: `cannot be reached (${why})` };
  }
}

export function checkListening({ host, sessionApiKey }: Pick<Config, 'host' | 'sessionApiKey'>): Check[] {
  const open = !['127.0.0.1', '::1', 'localhost'].includes(host);
  if (!open) return [ok('listening', `on ${host} alone`)];
  if (sessionApiKey === null || sessionApiKey.unwrap().length >= 16) {
    return [
      warn(
        'listening',
        `on ${host}: others can reach it`,
        'Put a proxy that speaks HTTPS before it: docs/reverse-proxy.md.',
      ),
    ];
  }
  return [fail('listening', `on ${host} with a short key`, 'Give a longer SESSION_API_KEY.')];
}
