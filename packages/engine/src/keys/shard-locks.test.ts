import { Worker } from 'node:worker_threads';
import { beforeEach, expect, test } from 'vitest';
import { ByteInput } from '../memory/byte-input.js';
import { ShardWord } from '../memory/layout.js';
import { StoreBusy } from '../memory/lock.js';
import { START_MS } from '../testing/nodes.js';
import { Engine } from './engine.js';

const SHARDS = 4;
/** As many keys as it takes to have one in each shard. */
const NAMES = Array.from({ length: 64 }, (_, index) => `key${index}`);
const input = ByteInput.copyOf(Buffer.from(NAMES.join('')));
const lengths = Int32Array.from(NAMES, ({ length }) => length);
const starts = lengths.map((_, index) => lengths.subarray(0, index).reduce((sum, length) => sum + length, 0));

let engine: Engine;
let other: Engine;
/** Two keys of different shards. */
let far: number;
beforeEach(() => {
  engine = Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    shared: true,
    shardCount: SHARDS,
    origin: new Uint8Array(32).fill(1),
    nowMs: START_MS,
  });
  other = Engine.attach(engine.buffer);
  lock(engine, 0);
  far = NAMES.findIndex((_, index) => !engine.holdsKeys(input, starts, lengths, index, index + 1, 1));
  engine.unlock();
});

function lock(view: Engine, key: number): void {
  view.lockKeys(input, starts, lengths, key, key + 1, 1);
}

function open(view: Engine, key: number): void {
  view.open(input, starts[key], lengths[key]);
  view.close();
}

test('a key of a shard that is not locked cannot be opened in silence inside lockKeys', () => {
  lock(engine, 0);
  open(engine, 0);
  expect(() => open(engine, far)).toThrow('only keys of the locked shards');
  expect(() => lock(engine, far)).toThrow('the shards of the keys are held');
  expect(() => engine.lockAll()).toThrow('all shards are held');
  engine.releaseLocks();
  open(engine, far);
});

test('locks are added while none of them is held elsewhere, and then they are all given back', () => {
  lock(engine, 0);
  expect(engine.extendToAll()).toBe(true);
  expect(engine.holdsAll).toBe(true);
  open(engine, far);
  engine.unlock();
  other.lockAll();
  other.unlock();
});

test('locks that another holds are not waited for without end, and the locks from before stay', () => {
  lock(engine, 0);
  lock(other, far);
  expect(engine.extendToAll()).toBe(false);
  open(engine, 0);
  expect(engine.holdsAll).toBe(false);
  other.unlock();
  expect(engine.extendToAll()).toBe(true);
  engine.unlock();
});

test('who waits behind a slow script gives up, with no lock left behind', () => {
  other.yieldsToScripts = true;
  lock(engine, 0);
  engine.countSlowScripts(1);
  expect(() => open(other, 0)).toThrow(StoreBusy);
  expect(() => other.lockAll()).toThrow(StoreBusy);
  open(other, far);
  engine.countSlowScripts(-1);
  engine.unlock();
  other.lockAll();
  other.unlock();
  engine.lockAll();
  engine.unlock();
});

test('locks are added though another thread waits in order, and holds those before the one it waits for', async () => {
  const { store } = engine;
  const last = NAMES.findIndex(
    (_, key) => store.shardIndexOf(store.shardOf(input, starts[key], lengths[key])) === SHARDS - 1,
  );
  const state = new Int32Array(new SharedArrayBuffer(4));
  lock(engine, last);
  const worker = new Worker(
    `import { workerData, parentPort } from 'node:worker_threads';
     const { Engine } = await import(workerData.engine);
     const view = Engine.attach(workerData.buffer);
     Atomics.store(workerData.state, 0, 1);
     view.lockAll();
     view.unlock();
     parentPort.postMessage('done');`,
    {
      eval: true,
      workerData: { buffer: engine.buffer, state, engine: new URL('../../dist/index.js', import.meta.url).href },
    },
  );
  const done = new Promise((resolve) => worker.once('message', resolve));
  // It holds the first shard and waits for the last.
  const first = store.shardAt(0);
  while (Atomics.load(state, 0) === 0 || Atomics.load(store.memory, first + ShardWord.lock) === 0) {
    await new Promise(setImmediate);
  }
  expect(engine.extendToAll()).toBe(true);
  engine.unlock();
  expect(await done).toBe('done');
  await worker.terminate();
});

test('who waits already when a script becomes slow gives up too', async () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `import { workerData, parentPort } from 'node:worker_threads';
     const { Engine, ByteInput } = await import(workerData.engine);
     const view = Engine.attach(workerData.buffer);
     view.yieldsToScripts = true;
     Atomics.store(workerData.word, 0, 1);
     try { view.lockAll(); } catch (error) { parentPort.postMessage(error.name); }`,
    {
      eval: true,
      workerData: { buffer: engine.buffer, word, engine: new URL('../../dist/index.js', import.meta.url).href },
    },
  );
  engine.lockAll();
  const name = new Promise((resolve) => worker.once('message', resolve));
  while (Atomics.load(word, 0) === 0) await new Promise(setImmediate);
  engine.countSlowScripts(1);
  expect(await name).toBe('StoreBusy');
  await worker.terminate();
});
