import { type CommandSender, ExpiringCounts } from './expiring-counts.js';

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void;

interface RouteInfo {
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string };
}

/**
 * The class of a store for `@fastify/rate-limit`, which makes the instances:
 * `app.register(rateLimit, { store: fastifyRateLimitStore(client) })`. Routes with limits of their own count apart.
 */
export function fastifyRateLimitStore(client: CommandSender, prefix = 'fastify:') {
  return class FastifyRateLimitStore {
    readonly counts: ExpiringCounts;

    /** The plugin passes its options, which are not needed; `child` passes the name of the route. */
    constructor(_options?: unknown, routeName = '') {
      this.counts = new ExpiringCounts(client, `${prefix}${routeName}`);
    }

    incr(key: string, callback: Callback, timeWindowMs: number): void {
      this.counts.hit(key, timeWindowMs).then(
        ({ count, leftMs }) => callback(null, { current: count, ttl: leftMs }),
        (error: Error) => callback(error),
      );
    }

    child(route: RouteInfo): FastifyRateLimitStore {
      const { method = '', url = '' } = route.routeInfo ?? {};
      return new FastifyRateLimitStore(undefined, `${String(method)} ${url} `);
    }
  };
}
