import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A schema of the document; a reference names one of its components. */
type Schema = { [member: string]: unknown };

/** What the OpenAPI document of OpenHands 0.53 says of each route's answers: the schemas alone. */
interface Document {
  paths: Record<string, Record<string, Record<string, Schema>>>;
  components: { schemas: Record<string, Schema> };
}

const document = JSON.parse(
  readFileSync(new URL('document.json', import.meta.url), 'utf8'),
) as unknown as Document;

/** Every route of the document: `GET /api/conversations/{conversation_id}`. */
export const V0_ROUTES: readonly string[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);

/**
 * Where an answer is not what the document says of it: `body.title wrong`, or that the document does not have the
 * status at all.
 */
export function differences(route: string, status: number, body: unknown): string[] {
  const [method = '', path = ''] = route.split(' ');
  const schema = document.paths[path]?.[method.toLowerCase()]?.[String(status)];
  if (!schema) return ['no such status'];
  const result = z.fromJSONSchema(whole(schema) as Parameters<typeof z.fromJSONSchema>[0]).safeParse(body);
  const found = result.error?.issues.map(({ path: at }) => {
    const steps = at.map((step) => (typeof step === 'number' ? '[]' : String(step)));
    return `${['body', ...steps].join('.')} is not as documented`;
  });
  return [...new Set(found)];
}

/** The schema with what it refers to in its place. */
function whole(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(whole);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('$ref' in schema && typeof schema.$ref === 'string') {
    return whole(document.components.schemas[schema.$ref.split('/').at(-1) ?? '']);
  }
  return Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, whole(member)]));
}
