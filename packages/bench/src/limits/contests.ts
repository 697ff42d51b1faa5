import { Quota, QuotadbClient, RateLimiter } from '@quotadb/client';
import { EmbeddedPostgres } from '@quotadb/counts';
import {
  fixedWindowAt,
  MemoryWindowStore,
  PostgresWindowStore,
  QuotadbWindowStore,
  RedisWindowStore,
  type WindowCounterStore,
} from '@quotadb/windows';
import pg from 'pg';
import { loadJob } from '../load/load-job.js';
import type { Request } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import type { Cleanup } from '../machine/cleanup.js';
import { perSecond } from '../measure/rounds.js';
import { ask } from '../servers/ask.js';
import { type Contest, type ContestSide, measureHere } from './contest.js';
import { libraryScripts } from './library-scripts.js';

interface Server {
  readonly port: number;
  readonly pid: number;
}

/** What the contests run against. */
export interface Servers {
  readonly redis: Server;
  readonly quotadb: Server;
}

const HOUR_MS = 3_600_000;
/** Never reached: the figures are of requests that are allowed, as nearly all are. */
const LIMIT = 1_000_000_000;
const KEYS = Array.from({ length: 1_000 }, (_, index) => `user:${index}`);
const CONCURRENCY = 64;
const DATABASE_CONNECTIONS = 8;

function sideOf(name: string, operate: (key: string) => unknown, concurrency = CONCURRENCY): ContestSide {
  const operations = { concurrency, operate: (index: number) => operate(KEYS[index % KEYS.length]!) };
  return { name, measure: (seconds) => measureHere(operations, seconds) };
}

/** The packages that QuotaDB's are compared with; imported when this bench runs, and by no other. */
async function others() {
  const [{ Redis }, { createClient }, flexible] = await Promise.all([
    import('ioredis'),
    import('redis'),
    import('rate-limiter-flexible'),
  ]);
  return { Redis, createClient, ...flexible };
}

/** Rate decisions: in the process, in the process with a promise, and by a server each time. */
export async function decisions(servers: Servers, cleanup: Cleanup): Promise<Contest> {
  const { Redis, RateLimiterMemory, RateLimiterRedis } = await others();
  const client = QuotadbClient.open({ port: servers.quotadb.port });
  const redis = new Redis(servers.redis.port);
  await client.quotaDefine('bench', { limit: LIMIT, windowMs: HOUR_MS });
  const quota = new Quota({ client, name: 'bench', whenAway: 'closed', timeoutMs: 10_000 });
  onCleanup(cleanup, async () => {
    redis.disconnect();
    await quota.close();
    await client.close();
  });
  const shared = { client, limit: LIMIT, windowMs: HOUR_MS, whenAway: 'closed' } as const;
  // The loop never gives the event loop a turn, so no answer arrives meanwhile: counts must stay fresh for the round.
  const inProcess = new RateLimiter({ ...shared, prefix: 'process:', stalenessMs: 60_000 });
  const alwaysAsking = new RateLimiter({ ...shared, prefix: 'server:', processShare: 0 });
  for (const key of KEYS) await inProcess.limitFor(key);
  const flexible = { points: LIMIT, duration: HOUR_MS / 1_000 };
  const memory = new RateLimiterMemory(flexible);
  const inRedis = new RateLimiterRedis({ ...flexible, storeClient: redis });
  return {
    name: 'decisions',
    description: 'one decision about one of 1,000 keys',
    sides: [
      sideOf('quotadb, in the process, at once', (key) => inProcess.tryLimit(key)!, 0),
      sideOf('quotadb, in the process, awaited', (key) => inProcess.limitFor(key), 1),
      sideOf('quotadb, an exact quota, with all that goes to and fro for it', (key) => quota.take(key)),
      sideOf('rate-limiter-flexible, memory', (key) => memory.consume(key), 1),
      sideOf('quotadb, asking the server', (key) => alwaysAsking.limitFor(key)),
      sideOf('rate-limiter-flexible, Redis', (key) => inRedis.consume(key)),
    ],
  };
}

/** The four stores of @quotadb/windows. */
export async function adapters(servers: Servers, cleanup: Cleanup): Promise<Contest> {
  const { Redis } = await others();
  const client = QuotadbClient.open({ port: servers.quotadb.port });
  const redis = new Redis(servers.redis.port);
  const postgres = new EmbeddedPostgres({});
  const pool = new pg.Pool({ ...(await postgres.start()), max: DATABASE_CONNECTIONS });
  // `end` does not wait for the sockets: PostgreSQL sends them an error when it stops, which would end the bench.
  pool.on('error', () => undefined);
  onCleanup(cleanup, async () => {
    redis.disconnect();
    await client.close();
    await pool.end();
    await postgres.stop();
  });
  const window = fixedWindowAt(Date.now() + 120_000, HOUR_MS);
  const stores: Record<string, WindowCounterStore> = {
    memory: new MemoryWindowStore(),
    quotadb: new QuotadbWindowStore({ client }),
    redis: new RedisWindowStore({ client: redis }),
    postgres: new PostgresWindowStore({ client: pool }),
  };
  await Promise.all(Object.values(stores).map((store) => store.increment('first', window)));
  return {
    name: 'adapters',
    description: `increments of windows through @quotadb/windows, ${CONCURRENCY} at once, 1,000 keys`,
    sides: Object.entries(stores).map(([name, store]) => sideOf(name, (key) => store.increment(key, window))),
  };
}

/** The same INCR to the same server through three clients. */
export async function clients(servers: Servers, cleanup: Cleanup): Promise<Contest> {
  const { Redis, createClient } = await others();
  const ours = QuotadbClient.open({ port: servers.quotadb.port });
  const ioredis = new Redis(servers.quotadb.port, { enableAutoPipelining: true });
  const nodeRedis = createClient({ socket: { port: servers.quotadb.port } });
  await nodeRedis.connect();
  onCleanup(cleanup, async () => {
    ioredis.disconnect();
    nodeRedis.destroy();
    await ours.close();
  });
  return {
    name: 'clients',
    description: `INCR of one of 1,000 keys, ${CONCURRENCY} at once, to the same QuotaDB`,
    sides: [
      sideOf('@quotadb/client', (key) => ours.increment(key)),
      sideOf('ioredis', (key) => ioredis.incr(key)),
      sideOf('node-redis', (key) => nodeRedis.incr(key)),
    ],
  };
}

const SCRIPT_CONNECTIONS = 50;
const SCRIPT_PIPELINES = [1, 16];
const SCRIPT_KEYS = 100_000;

/** The scripts of limiter libraries by EVALSHA, the same bytes to both servers. */
export async function scripts(servers: Servers): Promise<Contest> {
  const sides: ContestSide[] = [];
  for (const { library, script, request } of libraryScripts) {
    for (const server of Object.values(servers)) await ask(server.port, 'SCRIPT', 'LOAD', script);
    for (const pipeline of SCRIPT_PIPELINES) {
      for (const [name, server] of Object.entries(servers)) {
        sides.push(scriptSide(`${library}, pipeline ${pipeline}, ${name}`, server, pipeline, [request]));
      }
    }
  }
  return {
    name: 'scripts',
    description:
      `EVALSHA of limiter libraries, ${SCRIPT_CONNECTIONS} connections, ` + `${SCRIPT_KEYS.toLocaleString('en')} keys`,
    sides,
  };
}

function scriptSide(name: string, server: Server, pipeline: number, request: Request): ContestSide {
  const settings = { pattern: [request], keyCount: SCRIPT_KEYS, pipeline, connections: SCRIPT_CONNECTIONS };
  return {
    name,
    async measure(seconds, signal) {
      const result = await runLoad(loadJob(server, { ...settings, measureMs: seconds * 1_000 }), signal);
      const { operations, serverCpuMicroseconds, clientCpuMicroseconds = 0 } = result;
      return {
        operationsPerSecond: perSecond(result),
        clientCpuMicrosecondsPerOperation: clientCpuMicroseconds / operations,
        ...(serverCpuMicroseconds !== undefined && {
          serverCpuMicrosecondsPerOperation: serverCpuMicroseconds / operations,
        }),
      };
    },
  };
}

function onCleanup(cleanup: Cleanup, gently: () => Promise<void>): void {
  cleanup.add({ gently, atOnce: () => undefined });
}
