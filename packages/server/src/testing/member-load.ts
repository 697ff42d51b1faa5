import { Redis, type RedisOptions } from 'ioredis';

/** What clients know of their increments: the total must be at least the acknowledged and at most the attempted. */
export interface Load {
  readonly attempted: number;
  readonly acknowledged: number;
  /** The longest time in which none of a client's increments was acknowledged, of every client. */
  readonly longestGapsMs: readonly number[];
  /** Resolves when no client counts any more. */
  stop(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 2000;

/** Ordinary ioredis clients that count on one key; each has all addresses, and goes to the next one after an error. */
export function startLoad(
  ports: readonly number[],
  clients: number,
  key: string,
  more: Partial<RedisOptions> = {},
): Load {
  const load = { attempted: 0, acknowledged: 0, longestGapsMs: [] as number[] };
  let isOver = false;
  const count = async (index: number) => {
    for (let at = index; !isOver; at++) {
      const client = connect(ports[at % ports.length], more);
      try {
        await client.connect();
        while (!isOver) {
          load.attempted++;
          await client.incr(key);
          load.acknowledged++;
          noteGap(index);
        }
      } catch {
        // The next address.
      } finally {
        client.disconnect();
      }
    }
  };
  const acknowledgedAtMs: number[] = [];
  const noteGap = (index: number) => {
    const nowMs = performance.now();
    const gapMs = nowMs - (acknowledgedAtMs[index] ?? nowMs);
    acknowledgedAtMs[index] = nowMs;
    load.longestGapsMs[index] = Math.max(load.longestGapsMs[index] ?? 0, gapMs);
  };
  const running = Array.from({ length: clients }, (_, index) => count(index));
  return Object.assign(load, {
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  });
}

function connect(port: number, more: Partial<RedisOptions>): Redis {
  const client = new Redis({
    port,
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    ...more,
  });
  // Every error is also one of the command, or of the connect, that it ends.
  client.on('error', () => {});
  return client;
}
