import { startRedis } from '@quotadb/wire/testing';
import { startTestServer, TestClient } from '../testing/index.js';
import type { Sides } from './difference-search.js';

/** A real Redis and a server of ours, each with a client that speaks the protocol. */
export interface Pair extends Sides {
  stop(): Promise<void>;
}

export async function startPair(protocol: 2 | 3): Promise<Pair> {
  const redisServer = await startRedis();
  const ourServer = await startTestServer({ databases: 16 });
  const redis = await TestClient.open(redisServer.port);
  const ours = await TestClient.open(ourServer.port);
  await Promise.all([redis.send([['HELLO', String(protocol)]]), ours.send([['HELLO', String(protocol)]])]);
  return {
    redis,
    ours,
    async stop() {
      await Promise.all([redis.close(), ours.close()]);
      await Promise.all([redisServer.stop(), ourServer.stop()]);
    },
  };
}
