/**
 * What the same stack can do at best with a settings body: fastify, a zod schema of the same 25 members, one durable
 * upsert, the writes of a turn in one commit. No keys, no secrets sealed, nothing merged, no log; imports nothing of
 * Parley. Serves at `--port` with the database in `--data`, until it is killed.
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
const text = z
  .string()
  .max(10_000)
  .refine((value) => !value.includes('\0') && value.isWellFormed());
const line = z
  .string()
  .max(2_000)
  .refine((value) => value.isWellFormed() && !CONTROL.test(value));
const url = line.refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol));
const name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/);
const flag = z.boolean().nullish();
const httpServers = z.array(
  z.union([url, z.object({ url, api_key: text.nullish(), timeout: z.int().min(1).max(3600).nullish() })]),
);

const settings = z.object({
  language: line.nullish(),
  agent: z.enum(['CodeActAgent', 'DummyAgent', 'ReadOnlyAgent', '']).nullish(),
  max_iterations: z.int().min(1).nullish(),
  security_analyzer: z.enum(['llm', 'rules', '']).nullish(),
  confirmation_mode: flag,
  llm_model: line.nullish(),
  llm_api_key: text.nullish(),
  llm_base_url: z.union([url, z.literal('')]).nullish(),
  remote_runtime_resource_factor: z.union([z.literal(1), z.literal(2), z.literal(4), z.literal(8)]).nullish(),
  secrets_store: z
    .object({
      provider_tokens: z
        .record(
          z.enum(['github', 'gitlab', 'bitbucket', 'azure_devops', 'forgejo', 'enterprise_sso']),
          z
            .union([text, z.object({ token: text, host: line.nullish(), user_id: line.nullish() })])
            .optional(),
        )
        .nullish(),
      custom_secrets: z
        .record(name, z.union([text, z.object({ secret: text, description: text.nullish() })]))
        .nullish(),
    })
    .nullish(),
  enable_default_condenser: z.boolean().default(true),
  enable_sound_notifications: z.boolean().default(false),
  enable_proactive_conversation_starters: z.boolean().default(true),
  enable_solvability_analysis: z.boolean().default(true),
  user_consents_to_analytics: flag,
  sandbox_base_container_image: line.nullish(),
  sandbox_runtime_container_image: line.nullish(),
  mcp_config: z
    .object({
      sse_servers: httpServers.nullish(),
      stdio_servers: z
        .array(
          z.object({
            name: line,
            command: line,
            args: z.array(text).nullish(),
            env: z.record(name, text.nullable()).nullish(),
          }),
        )
        .nullish(),
      shttp_servers: httpServers.nullish(),
    })
    .nullish(),
  search_api_key: text.nullish(),
  sandbox_api_key: text.nullish(),
  max_budget_per_task: z.number().min(0).nullish(),
  email: line.nullish(),
  email_verified: flag,
  git_user_name: line.nullish(),
  git_user_email: line.nullish(),
});

const database = new DatabaseSync(join(values.data ?? '.', 'limit.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table settings (user text primary key, document text not null)');
const upsert = database.prepare(
  'insert into settings values (?, ?) on conflict (user) do update set document = excluded.document',
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
  for (const { document } of batch) upsert.run('ann', document);
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
