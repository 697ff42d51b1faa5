import { Engine } from '../keys/engine.js';

/** One shard, and somebody to tell: deleted keys leave a trace. */
export function makeNode(name: number): Engine {
  const origin = new Uint8Array(32);
  origin[0] = name;
  const engine = Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    origin,
    nowMs: Date.UTC(2026, 5, 1),
    shardCount: 1,
    expiryGraceMs: 10_000,
  });
  engine.acknowledge(0, 0);
  return engine;
}
