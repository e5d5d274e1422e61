/**
 * What the same stack can do at best with a settings body: fastify, a zod schema of the same 25 members and the same
 * checks, one durable upsert of a row as long as ours, the writes of a turn in one commit. No keys, no secrets sealed,
 * nothing merged, no log; imports nothing of Parley. Serves at `--port` with the database in `--data`, until it is
 * killed.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import {
  type FastifyPluginCallbackZod,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { z } from 'zod';

const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes('\0') && value.isWellFormed());
const line = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed() && !CONTROL.test(value));
const url = line(2_000).refine((value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '';
});
const HOST = /^(https?:\/\/)?[A-Za-z0-9._-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/;
const host = line(500).refine(
  (value) => value === '' || (HOST.test(value) && URL.canParse(`https://${value}`)),
);
const name = z
  .string()
  .max(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/);
const secret = text(10_000).refine((value) => value === '' || value.length >= 8);
const flag = z.boolean().nullish();

const areUnique = (names: readonly string[]) => new Set(names).size === names.length;
const httpServers = z
  .array(
    z.object({ url, api_key: line(10_000).nullish(), timeout: z.int().min(1).max(3600).nullish() }).or(url),
  )
  .max(100)
  .refine((servers) =>
    areUnique(servers.map((server) => (typeof server === 'string' ? server : server.url))),
  );
const stdioServers = z
  .array(
    z.object({
      name: line(255).regex(/^[A-Za-z0-9_-]+$/),
      command: line(1_000).min(1),
      args: z.array(text(10_000)).max(200).nullish(),
      env: z.record(name, text(10_000).nullable()).nullish(),
    }),
  )
  .max(100)
  .refine((servers) => areUnique(servers.map((server) => server.name)));

const settings = z.object({
  language: line(35).nullish(),
  agent: z.enum(['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent', '']).nullish(),
  max_iterations: z.int().min(1).nullish(),
  security_analyzer: z.enum(['llm', 'rules', '']).nullish(),
  confirmation_mode: flag,
  llm_model: line(255).nullish(),
  llm_api_key: line(10_000).nullish(),
  llm_base_url: z.union([url, z.literal('')]).nullish(),
  remote_runtime_resource_factor: z.union([z.literal(1), z.literal(2), z.literal(4), z.literal(8)]).nullish(),
  secrets_store: z
    .object({
      provider_tokens: z
        .partialRecord(
          z.enum(['github', 'gitlab', 'bitbucket', 'azure_devops', 'forgejo', 'enterprise_sso']),
          z
            .object({ token: line(10_000).nullish(), host: host.nullish(), user_id: line(255).nullish() })
            .or(line(10_000))
            .nullable(),
        )
        .nullish(),
      custom_secrets: z
        .record(
          name,
          z
            .object({ secret: secret.nullish(), description: text(2_000).nullish() })
            .or(secret)
            .nullable(),
        )
        .nullish(),
    })
    .nullish(),
  enable_default_condenser: z.boolean().nullish().default(true),
  enable_sound_notifications: z.boolean().nullish().default(false),
  enable_proactive_conversation_starters: z.boolean().nullish().default(true),
  enable_solvability_analysis: z.boolean().nullish().default(true),
  user_consents_to_analytics: flag,
  sandbox_base_container_image: line(500).nullish(),
  sandbox_runtime_container_image: line(500).nullish(),
  mcp_config: z
    .object({
      sse_servers: httpServers.nullish(),
      stdio_servers: stdioServers.nullish(),
      shttp_servers: httpServers.nullish(),
    })
    .nullish(),
  search_api_key: line(10_000)
    .refine((key) => key === '' || key.startsWith('tvly-'))
    .nullish(),
  sandbox_api_key: line(10_000).nullish(),
  max_budget_per_task: z.number().min(0).nullish(),
  email: line(320).nullish(),
  email_verified: flag,
  git_user_name: line(255).nullish(),
  git_user_email: line(320).nullish(),
});

/** In the place of sealed secrets, which have to be written with the rest: as many characters as ten of them. */
const SEALED = 'x'.repeat(1_700);

const database = new DatabaseSync(join(values.data ?? '.', 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table settings (user text primary key, document text not null, sealed text not null)');
const upsert = database.prepare(
  `insert into settings values (?, ?, ?)
   on conflict (user) do update set document = excluded.document, sealed = excluded.sealed`,
);

let waiting: { document: string; done: () => void }[] = [];

function store(document: string): Promise<void> {
  return new Promise((done) => {
    if (waiting.length === 0) setImmediate(commit);
    waiting.push({ document, done });
  });
}

function commit(): void {
  const batch = waiting;
  waiting = [];
  database.exec('begin immediate');
  for (const { document } of batch) upsert.run('ann', document, SEALED);
  database.exec('commit');
  for (const { done } of batch) done();
}

const routes: FastifyPluginCallbackZod = (server, _options, done) => {
  server.post(
    '/api/settings',
    { schema: { body: settings, response: { 200: z.object({ message: z.string() }) } } },
    async ({ body }) => {
      await store(JSON.stringify(body));
      return { message: 'Settings stored' };
    },
  );
  done();
};

const server = Fastify();
server.setValidatorCompiler(validatorCompiler);
server.setSerializerCompiler(serializerCompiler);
await server.register(routes);
await server.listen({ host: '127.0.0.1', port: Number(values.port) });
