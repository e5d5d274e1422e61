import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import {
  MAX_TIMER_SECONDS,
  bytes,
  freeSpace,
  hosts,
  httpAddress,
  integer,
  isOrigin,
  isProxy,
  isSubmodule,
  keyOf32Bytes,
  list,
  maxRunning,
} from './config-values.ts';
import { fileVariable, spelled, valueOf } from './environment.ts';
import type { HostList } from './egress/host-list.ts';
import { PUSH_POLICIES, type PushPolicy } from './sandbox/gateway/push/push.ts';
import type { SandboxLimits } from './sandbox/sandbox.ts';
import type { FreeSpaceRule } from './free-space.ts';
import { Secret } from './secrets/secret.ts';
import { StartError } from './start-error.ts';

/** All that can be set from outside, read once and frozen. */
export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly dataDir: string;
  /** What of the data directory's disk no new work may take. */
  readonly minFreeSpace: Readonly<FreeSpaceRule>;
  readonly sessionApiKey: Secret | null;
  /** 32 bytes in base64. */
  readonly secretKey: Secret | null;
  /** The one before it, while what it sealed is sealed anew. */
  readonly previousSecretKey: Secret | null;
  readonly sandbox: {
    readonly kind: 'auto' | 'bubblewrap' | 'unconfined' | 'none';
    readonly uidBase: number;
    readonly limits: Readonly<SandboxLimits>;
    readonly readOnlyPaths: readonly string[];
    readonly allowHosts: HostList;
  };
  readonly pushPolicy: PushPolicy;
  /** Repositories that conversations read with their user's token beside their own: `owner/name`, `owner/*`. */
  readonly submodules: readonly string[];
  readonly allowPrivateHosts: HostList;
  /** Where the web is searched: Tavily, or a server that speaks its API. Without a slash at its end. */
  readonly searchUrl: string;
  /** Where it is told how runs end, of users who consent; null for nowhere. */
  readonly analyticsUrl: string | null;
  /** Requests per key and second; 0 for no limit. */
  readonly rateLimit: number;
  /** How many conversations are driven at once. */
  readonly maxRunning: { readonly perUser: number; readonly inAll: number };
  readonly idleStopSeconds: number;
  /** Days until a stopped conversation that nobody touches is removed; null for never. */
  readonly keepDays: number | null;
  /** Wall-clock limits: of one call of a model, and of one run. */
  readonly timeouts: { readonly modelSeconds: number; readonly runSeconds: number };
  /** Tokens that a model whose window is not known reads and writes in one call. */
  readonly modelWindow: number;
  /** Of an MCP server: until it is connected, and until a call is answered. */
  readonly mcp: { readonly connectSeconds: number; readonly callSeconds: number };
  readonly corsOrigins: readonly string[];
  /** The origin it is reached by, when a proxy stands before it. */
  readonly publicUrl: string | null;
  /** Addresses, networks, or `loopback`. */
  readonly trustedProxies: readonly string[];
  /** Null when none were given. */
  readonly allowedHosts: HostList | null;
  /** A folder with a built browser client, served at `/`. */
  readonly webDir: string | null;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** The machine's certificate authorities, for programs in sandboxes; null for their own defaults. */
  readonly caFile: string | null;
}

/** What the command line says; it wins over the environment. */
export interface Overrides {
  host?: string;
  port?: string;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const SANDBOX_KINDS = ['auto', 'bubblewrap', 'unconfined', 'none'] as const;

/** A variable with its default, as it would be written. `''` means: not set. */
function variable<T extends z.ZodType<unknown, string>>(schema: T, fallback: string) {
  return z.string().default(fallback).pipe(schema).meta({ fallback });
}

function optional<T extends z.ZodType<unknown, string>>(schema: T) {
  return schema.optional().meta({ fallback: '' });
}

/** Every variable there is; `docs/configuration.md` lists the same, and a test holds the two together. */
export const VARIABLES = z.object({
  HOST: variable(
    z.string().regex(/^[A-Za-z0-9.:_%-]+$/, 'must be an address, of IPv6 without brackets, or a host name'),
    '127.0.0.1',
  ),
  PORT: variable(integer(0, 65_535), '3000'),
  PARLEY_DATA_DIR: variable(z.string(), '~/.local/share/parley'),
  SESSION_API_KEY: optional(
    z.string().regex(/^[\u0021-\u007e]+$/, 'must be printable ASCII without spaces: it is sent in a header'),
  ),
  PARLEY_SECRET_KEY: optional(keyOf32Bytes),
  PARLEY_SECRET_KEY_PREVIOUS: optional(keyOf32Bytes),
  PARLEY_SANDBOX: variable(
    z.enum(SANDBOX_KINDS, { error: `must be one of ${SANDBOX_KINDS.join(', ')}` }),
    'auto',
  ),
  PARLEY_SANDBOX_UID_BASE: variable(integer(1_000, 4_000_000_000), '2000000000'),
  PARLEY_SANDBOX_MEMORY: variable(bytes, '4G'),
  PARLEY_SANDBOX_PROCESSES: variable(integer(16, 100_000), '512'),
  PARLEY_SANDBOX_CPUS: variable(
    z
      .string()
      .regex(/^[0-9]{1,4}(\.[0-9]{1,3})?$/, 'must be a number of processors: 2 or 0.5')
      .transform(Number)
      .refine((value) => value >= 0.1, 'must be at least 0.1'),
    '2',
  ),
  PARLEY_SANDBOX_DISK: variable(bytes, '10G'),
  PARLEY_MIN_FREE_SPACE: variable(freeSpace, '1G,2%'),
  PARLEY_SANDBOX_READ_ONLY_PATHS: variable(list('absolute paths', isAbsolute), ''),
  PARLEY_SANDBOX_ALLOW_HOSTS: variable(hosts, ''),
  PARLEY_PUSH_POLICY: variable(
    z.enum(PUSH_POLICIES, { error: `must be one of ${PUSH_POLICIES.join(', ')}` }),
    'protect',
  ),
  PARLEY_SUBMODULES: variable(
    list('repositories (acme/lib, or acme/* for all of an owner)', isSubmodule),
    '',
  ),
  PARLEY_ALLOW_PRIVATE_HOSTS: variable(hosts, ''),
  PARLEY_SEARCH_URL: variable(httpAddress, 'https://api.tavily.com'),
  PARLEY_ANALYTICS_URL: optional(httpAddress),
  PARLEY_RATE_LIMIT: variable(integer(0, 1_000_000), '100'),
  PARLEY_MAX_RUNNING: variable(maxRunning, '10,100'),
  PARLEY_IDLE_STOP_SECONDS: variable(integer(1, 31_536_000), '3600'),
  PARLEY_KEEP_DAYS: optional(integer(1, 36_500)),
  PARLEY_MODEL_WINDOW_TOKENS: variable(integer(4_096, 100_000_000), '128000'),
  PARLEY_MODEL_TIMEOUT_SECONDS: variable(integer(1, MAX_TIMER_SECONDS), '1800'),
  PARLEY_RUN_TIMEOUT_SECONDS: variable(integer(1, MAX_TIMER_SECONDS), '86400'),
  PARLEY_MCP_CONNECT_SECONDS: variable(integer(1, 3_600), '60'),
  PARLEY_MCP_CALL_SECONDS: variable(integer(1, 3_600), '120'),
  PERMITTED_CORS_ORIGINS: variable(list('origins (https://page.example)', isOrigin), ''),
  PARLEY_PUBLIC_URL: optional(
    z
      .string()
      .refine(
        (url) => /^https?:\/\//.test(url) && isOrigin(url),
        'must be scheme and host, without a path: https://parley.example',
      ),
  ),
  PARLEY_TRUSTED_PROXIES: variable(
    list('addresses, networks (10.0.0.0/8), "loopback" or "none"', isProxy),
    'loopback',
  ),
  PARLEY_ALLOWED_HOSTS: optional(hosts),
  PARLEY_WEB_DIR: optional(
    z
      .string()
      .refine(
        (folder) => existsSync(join(absolute(folder), 'index.html')),
        'must be a folder with an index.html',
      ),
  ),
  PARLEY_LOG_LEVEL: variable(
    z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }),
    'info',
  ),
});

type Name = keyof typeof VARIABLES.shape;
const NAMES = Object.keys(VARIABLES.shape) as Name[];

/** A shorter session key can be guessed by who can reach the port. */
export const SHORT_KEY = 16;

/**
 * Reads the environment; each variable may also stand in a file that `NAME_FILE` names.
 * @throws StartError that names every variable that is wrong or not known
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, overrides: Overrides = {}): Config {
  const problems = unknownVariables(env);
  const given: Partial<Record<Name, string>> = {};
  for (const name of NAMES) {
    const value = valueOf(env, name, problems);
    if (value !== undefined) given[name] = value;
  }
  if (overrides.host !== undefined) given.HOST = overrides.host;
  if (overrides.port !== undefined) given.PORT = overrides.port;
  const parsed = VARIABLES.safeParse(given);
  for (const { path, message } of parsed.error?.issues ?? []) {
    problems.push(`${spelled(env, path.join('.'))} ${message}`);
  }
  // Whatever else is wrong: what is not right is told at once.
  if (given.HOST !== undefined && !isLoopback(given.HOST) && isShort(given.SESSION_API_KEY)) {
    problems.push(
      `SESSION_API_KEY must have at least ${SHORT_KEY} characters when HOST is not loopback, as others can reach the port`,
    );
  }
  if (!parsed.success || problems.length > 0) {
    throw new StartError(
      `The configuration is not right:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    );
  }
  return freeze(parsed.data, env);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.[0-9.]+$/.test(host);
}

export function isShort(key: string | undefined): boolean {
  return key !== undefined && key.length < SHORT_KEY;
}

function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(NAMES.flatMap((name) => [name, fileVariable(name)]));
  return Object.keys(env)
    .filter((name) => name.startsWith('PARLEY_') && !known.has(name))
    .map((name) => `${name} is not a known variable; docs/configuration.md lists them all`);
}

function freeze(values: z.output<typeof VARIABLES>, env: NodeJS.ProcessEnv): Config {
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    dataDir: absolute(values.PARLEY_DATA_DIR),
    minFreeSpace: Object.freeze(values.PARLEY_MIN_FREE_SPACE),
    sessionApiKey: secretOf(values.SESSION_API_KEY),
    secretKey: secretOf(values.PARLEY_SECRET_KEY),
    previousSecretKey: secretOf(values.PARLEY_SECRET_KEY_PREVIOUS),
    sandbox: Object.freeze({
      kind: values.PARLEY_SANDBOX,
      uidBase: values.PARLEY_SANDBOX_UID_BASE,
      limits: Object.freeze({
        memoryBytes: values.PARLEY_SANDBOX_MEMORY,
        processes: values.PARLEY_SANDBOX_PROCESSES,
        cpus: values.PARLEY_SANDBOX_CPUS,
        diskBytes: values.PARLEY_SANDBOX_DISK,
      }),
      readOnlyPaths: Object.freeze(values.PARLEY_SANDBOX_READ_ONLY_PATHS),
      allowHosts: values.PARLEY_SANDBOX_ALLOW_HOSTS,
    }),
    pushPolicy: values.PARLEY_PUSH_POLICY,
    submodules: Object.freeze(values.PARLEY_SUBMODULES),
    allowPrivateHosts: values.PARLEY_ALLOW_PRIVATE_HOSTS,
    searchUrl: values.PARLEY_SEARCH_URL,
    analyticsUrl: values.PARLEY_ANALYTICS_URL ?? null,
    rateLimit: values.PARLEY_RATE_LIMIT,
    maxRunning: Object.freeze(values.PARLEY_MAX_RUNNING),
    idleStopSeconds: values.PARLEY_IDLE_STOP_SECONDS,
    keepDays: values.PARLEY_KEEP_DAYS ?? null,
    modelWindow: values.PARLEY_MODEL_WINDOW_TOKENS,
    timeouts: Object.freeze({
      modelSeconds: values.PARLEY_MODEL_TIMEOUT_SECONDS,
      runSeconds: values.PARLEY_RUN_TIMEOUT_SECONDS,
    }),
    mcp: Object.freeze({
      connectSeconds: values.PARLEY_MCP_CONNECT_SECONDS,
      callSeconds: values.PARLEY_MCP_CALL_SECONDS,
    }),
    corsOrigins: Object.freeze(values.PERMITTED_CORS_ORIGINS),
    publicUrl: values.PARLEY_PUBLIC_URL ?? null,
    trustedProxies: Object.freeze(values.PARLEY_TRUSTED_PROXIES.filter((entry) => entry !== 'none')),
    allowedHosts: values.PARLEY_ALLOWED_HOSTS ?? null,
    webDir: values.PARLEY_WEB_DIR === undefined ? null : absolute(values.PARLEY_WEB_DIR),
    logLevel: values.PARLEY_LOG_LEVEL,
    caFile: env['NODE_EXTRA_CA_CERTS'] || env['SSL_CERT_FILE'] || null,
  });
}

function secretOf(value: string | undefined): Secret | null {
  return value === undefined ? null : new Secret(value);
}

function absolute(path: string): string {
  if (path !== '~' && !path.startsWith('~/')) return resolve(path);
  return join(home(), path.slice(1));
}

/** @throws StartError when nobody says where it is */
function home(): string {
  try {
    // A HOME that is set to nothing is taken for not set: else it would be the root of the file system.
    return homedir() || userInfo().homedir;
  } catch (cause) {
    throw new StartError(
      'This user has no home directory: set PARLEY_DATA_DIR to a path that begins with "/", or HOME.',
      { cause },
    );
  }
}
