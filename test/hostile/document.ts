import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

/** As much of JSON Schema as our document uses. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
}

/** One route of the document: what it takes, and what it says it may answer. */
export interface Operation {
  /** `POST /api/conversations/{id}/start` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { name: string; in: 'path' | 'query' | 'header'; schema: Schema }[];
  readonly body: { type: string; schema: Schema } | null;
  /** By status, by content type: what is wrong with such a body, or null. */
  readonly answers: ReadonlyMap<number, ReadonlyMap<string, (body: unknown) => string | null>>;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

interface Described {
  parameters?: { name: string; in: 'path' | 'query' | 'header'; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

/** The routes, as our own `/openapi.json` has them. `default` promises nothing, and so is no status. */
export async function describedOperations(server: FastifyInstance): Promise<Operation[]> {
  const { body } = await server.inject('/openapi.json');
  const { paths }: { paths: Record<string, Record<string, Described>> } = JSON.parse(body);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(method.toUpperCase(), path, described)),
  );
}

function operationOf(method: string, path: string, described: Described): Operation {
  const [type, content] = Object.entries(described.requestBody?.content ?? {})[0] ?? [];
  const answers = Object.entries(described.responses)
    .filter(([status]) => status !== 'default')
    .map(([status, answer]) => [Number(status), checksOf(answer)] as const);
  return {
    name: `${method} ${path}`,
    method,
    path,
    parameters: described.parameters ?? [],
    body: type === undefined ? null : { type, schema: content?.schema ?? {} },
    answers: new Map(answers),
  };
}

function checksOf({ content = {} }: Content): Map<string, (body: unknown) => string | null> {
  return new Map(Object.entries(content).map(([type, { schema }]) => [type, checkBy(schema ?? {})]));
}

function checkBy(schema: Schema): (body: unknown) => string | null {
  // The two describe the same draft under two names.
  const compiled = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  return (body) => compiled.safeParse(body).error?.message ?? null;
}
