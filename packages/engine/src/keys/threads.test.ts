import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, test } from 'vitest';
import { Merge } from '../batches/merge.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from '../testing/check-consistency.js';
import {
  GROWING_KEYS,
  growingKey,
  type HammerReport,
  type HammerTask,
  HOT_KEY,
  PAIR_TOTAL,
} from '../testing/hammer.js';
import { makeNode, START_MS, send, sendOrigin, type TestNode } from '../testing/nodes.js';
import { hashSecretOf } from '../testing/random.js';
import { add, assign, read, scanAll } from '../testing/single-key.js';
import { Engine } from './engine.js';

/** Workers run what `npm run build` made. */
const WORKER = new URL('../../dist/testing/hammer-worker.js', import.meta.url);
const THREADS = 4;
const ONE_KEY_ROUNDS = 50_000;
const MANY_KEYS_ROUNDS = 40_000;

let node: TestNode;

beforeEach(() => {
  const engine = Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    shared: true,
    shardCount: 4,
    origin: new Uint8Array(32).fill(1),
    nowMs: START_MS,
  });
  node = { engine, merge: new Merge(engine) };
});

/** Starts all threads at the same moment; `meanwhile` runs on this thread until they are done. */
async function runThreads(kind: HammerTask['kind'], rounds: number, meanwhile?: () => void): Promise<HammerReport[]> {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const workers = Array.from({ length: THREADS }, (_, thread) => {
    const task: HammerTask = { kind, thread, rounds, nowMs: START_MS };
    return new Worker(WORKER, { workerData: { buffer: node.engine.buffer, gate, task } });
  });
  let running = THREADS;
  const reports = workers.map((worker) =>
    new Promise<HammerReport>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    }).finally(() => running--),
  );
  while (Atomics.load(gate, 0) < THREADS && running === THREADS) await new Promise(setImmediate);
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
  while (meanwhile !== undefined && running > 0) {
    meanwhile();
    await new Promise(setImmediate);
  }
  const done = await Promise.all(reports);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return done;
}

describe(`${THREADS} threads on one store`, () => {
  test('lose no increment of one key, and each reply is the value right after that increment', async () => {
    const reports = await runThreads('one-key', ONE_KEY_ROUNDS);
    expect(reports.flatMap((report) => report.problems)).toEqual([]);
    const total = THREADS * ONE_KEY_ROUNDS;
    expect(read(node.engine, HOT_KEY).value).toBe(BigInt(total));
    const replies = new Uint8Array(total + 1);
    for (const { replies: own } of reports) {
      for (const [index, reply] of own.entries()) {
        replies[reply]++;
        if (index > 0 && reply <= own[index - 1]) expect.fail('a thread saw its own increments out of order');
      }
    }
    expect(replies.subarray(1).every((times) => times === 1)).toBe(true);
    expect(node.engine.keyCount()).toBe(1);
    checkConsistency(node.engine);
  });

  test('with keys that come, expire and go, locks on all keys and walks: totals are exact', async () => {
    assign(node.engine, 'left', PAIR_TOTAL);
    assign(node.engine, 'right', 0n);
    const reports = await runThreads('many-keys', MANY_KEYS_ROUNDS);
    expect(reports.flatMap((report) => report.problems)).toEqual([]);
    for (let index = 0; index < GROWING_KEYS; index++) {
      const added = reports.reduce((sum, report) => sum + report.added[index], 0);
      expect(read(node.engine, growingKey(index)).value).toBe(BigInt(added));
    }
    expect(read(node.engine, 'left').value + read(node.engine, 'right').value).toBe(PAIR_TOTAL);
    checkConsistency(node.engine);
    node.engine.advanceTo(node.engine.nowMs + 3_600_000);
    node.engine.expireSome(1_000_000);
    expect(node.engine.keyCount()).toBe(scanAll(node.engine).length);
    checkConsistency(node.engine);
  });

  test('while another node is merged and sent to: both nodes hold the same', async () => {
    for (let shard = 0; shard < node.engine.shardCount; shard++) node.engine.acknowledge(shard, 0);
    const other = makeNode(2, { shardCount: 4, hashSecret: hashSecretOf(5) });
    assign(node.engine, 'left', PAIR_TOTAL);
    assign(node.engine, 'right', 0n);
    let turn = 0;
    const reports = await runThreads('many-keys', MANY_KEYS_ROUNDS / 2, () => {
      add(other.engine, growingKey(turn++ % GROWING_KEYS), 1000n);
      sendOrigin(other, node, OWN_ORIGIN);
      sendOrigin(node, other, OWN_ORIGIN);
      for (let shard = 0; shard < node.engine.shardCount; shard++)
        node.engine.acknowledge(shard, other.engine.seen(shard, 1));
    });
    expect(reports.flatMap((report) => report.problems)).toEqual([]);
    expect(turn).toBeGreaterThan(0);
    const nowMs = node.engine.nowMs + 3_600_000;
    for (const { engine } of [node, other]) engine.advanceTo(nowMs);
    for (let round = 0; round < 3; round++) {
      send(node, other);
      send(other, node);
      for (let shard = 0; shard < node.engine.shardCount; shard++)
        node.engine.acknowledge(shard, other.engine.seen(shard, 1));
      for (const { engine } of [node, other]) engine.expireSome(1_000_000);
    }
    for (let index = 0; index < GROWING_KEYS; index++) {
      const added = reports.reduce((sum, report) => sum + report.added[index], 0);
      const merged = 1000 * (Math.floor(turn / GROWING_KEYS) + (index < turn % GROWING_KEYS ? 1 : 0));
      expect(read(node.engine, growingKey(index)).value).toBe(BigInt(added + merged));
    }
    for (let shard = 0; shard < node.engine.shardCount; shard++)
      expect(other.engine.digestOf(shard, 1)).toBe(node.engine.digestOf(shard, OWN_ORIGIN));
    expect(new Set(scanAll(other.engine).map(String))).toEqual(new Set(scanAll(node.engine).map(String)));
    for (const { engine } of [node, other]) checkConsistency(engine);
  });
});
