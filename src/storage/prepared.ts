import type { Compilable, Kysely, QueryResult } from 'kysely';
import type { Schema } from './schema.ts';

/** Gives what stands in a query for a value that comes when it is run. */
export type Value<Given> = <Name extends keyof Given & string>(name: Name) => Given[Name];

class Place {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query that is built once and run often: building one costs several times what running it does.
 *
 * @param build `(value: Value<{ id: string }>) => db.selectFrom('users').where('id', '=', value('id'))`
 */
export function prepared<Given extends object, Row>(
  db: Kysely<Schema>,
  build: (value: Value<Given>) => Compilable<Row>,
): (given: Given) => Promise<QueryResult<Row>> {
  // kysely hands parameters on without looking at them.
  const query = build((name) => new Place(name) as never).compile();
  return (given) => {
    const parameters = query.parameters.map((one) =>
      one instanceof Place ? Reflect.get(given, one.name) : one,
    );
    return db.executeQuery({ ...query, parameters });
  };
}
