import type { Asked, Given } from './server.ts';

/** The decoded values of `:name` in the pattern; of `:name*` it is what is left of the path. */
export type Parameters = Readonly<Record<string, string>>;
export type Route = (asked: Asked, parameters: Parameters) => Given;

/** Finds the route of a request: `GET /repos/:owner/:name`. An address that no route is for is a fault of the test. */
export function route(routes: Readonly<Record<string, Route>>): (asked: Asked) => Given {
  return (asked) => {
    for (const [pattern, answer] of Object.entries(routes)) {
      const [method, path = ''] = pattern.split(' ');
      if (method !== asked.method) continue;
      const parameters = match(path.split('/'), asked.path.split('/'));
      if (parameters) return answer(asked, parameters);
    }
    return { status: 501, body: { message: `the fake has no ${asked.method} ${asked.path}` } };
  };
}

function match(pattern: readonly string[], path: readonly string[]): Parameters | null {
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    if (part.startsWith(':') && part.endsWith('*')) {
      const rest = path.slice(index).map((segment) => decodeURIComponent(segment));
      return { ...parameters, [part.slice(1, -1)]: rest.join('/') };
    }
    const segment = path[index];
    if (segment === undefined) return null;
    if (part.startsWith(':')) parameters[part.slice(1)] = decodeURIComponent(segment);
    else if (part !== segment) return null;
  }
  return pattern.length === path.length ? parameters : null;
}
