import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../errors.ts';

/** Remembers every route, to tell a wrong method from a wrong path. */
export class KnownRoutes {
  readonly #methods = new Map<string, Set<string>>();

  constructor(server: FastifyInstance) {
    server.addHook('onRoute', ({ url, method }) => {
      const methods = this.#methods.get(url) ?? new Set();
      this.#methods.set(url, methods);
      for (const one of [method].flat()) methods.add(one);
    });
  }

  /** What to say of a request that no route takes: 405 with the methods there are, or 404. */
  refusal(path: string, method: string): { error: ServiceError; allow: string | null } {
    const allow = this.#allowed(path);
    if (allow.length === 0) {
      return {
        error: new ServiceError('not_found', 'There is no such route; /docs shows all there are.'),
        allow: null,
      };
    }
    return {
      error: new ServiceError('method_not_allowed', `This path takes ${allow.join(', ')}, not ${method}.`),
      allow: allow.join(', '),
    };
  }

  #allowed(path: string): string[] {
    const methods = new Set<string>();
    for (const [pattern, of] of this.#methods) {
      if (fits(path, pattern)) for (const method of of) methods.add(method);
    }
    return [...methods].sort();
  }
}

function fits(path: string, pattern: string): boolean {
  const parts = path.split('/');
  const wanted = pattern.split('/');
  if (wanted.at(-1) !== '*' && wanted.length !== parts.length) return false;
  return wanted.every(
    (part, index) => part === '*' || (part.startsWith(':') ? parts[index] !== '' : part === parts[index]),
  );
}
