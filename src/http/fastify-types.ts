import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Principal } from '../auth/principal.ts';

/** The routes of one resource: each a schema, a call of a service and a reply. */
export type Routes = FastifyPluginCallbackZod;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set before the body is read, on every route that is not `open`. */
    principal: Principal;
  }
  interface FastifyInstance {
    /** Counts one request of a key, or of an address that has none. @throws ServiceError rate_limited */
    throttle: (id: string) => void;
    /** When the last request with a key was answered, on the clock of `performance.now()`. */
    activity: { at: number };
    /** The origin it is reached by, when that is not what it listens on. */
    publicUrl: string | null;
  }
  interface FastifyContextConfig {
    /** The route needs no key. */
    open?: boolean;
    /** Though its method is not a safe one. */
    storesNothing?: boolean;
  }
}
