import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { START_MS } from '../testing/nodes.js';
import { add, read } from '../testing/single-key.js';
import { ByteInput } from './byte-input.js';
import { HeaderWord } from './layout.js';

const VISITS = 3000;

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    shared: true,
    shardCount: 4,
    origin: new Uint8Array(32).fill(1),
    nowMs: START_MS,
  });
}

/** A thread that counts until the word says stop, and reports how often. */
function startResident(engine: Engine, word: Int32Array, restEvery: number): Promise<number> {
  const worker = new Worker(
    `import { workerData, parentPort } from 'node:worker_threads';
     const { Engine, ByteInput } = await import(workerData.engine);
     const view = Engine.attach(workerData.buffer, 'resident');
     const key = ByteInput.copyOf(Buffer.from('key'));
     let count = 0;
     while (Atomics.load(workerData.word, 0) !== 2) {
       view.open(key, 0, 3);
       view.add(0, 1);
       view.close();
       if (++count === 10) Atomics.store(workerData.word, 0, 1);
       if (count % workerData.restEvery === 0) view.rest();
     }
     view.rest();
     parentPort.postMessage(count);`,
    {
      eval: true,
      workerData: {
        buffer: engine.buffer,
        word,
        restEvery,
        engine: new URL('../../dist/index.js', import.meta.url).href,
      },
    },
  );
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

for (const restEvery of [3, Number.MAX_SAFE_INTEGER]) {
  test(`a resident that rests every ${restEvery} changes lets visitors in, and no change is lost`, async () => {
    const engine = makeEngine();
    const word = new Int32Array(new SharedArrayBuffer(4));
    engine.beginVisits();
    const counted = startResident(engine, word, restEvery);
    while (Atomics.load(word, 0) === 0) await new Promise(setImmediate);
    for (let visit = 0; visit < VISITS; visit++) {
      if (visit % 3 === 0) add(engine, 'key', 1n);
      else if (visit % 3 === 1) engine.visit(() => add(engine, 'key', 1n));
      else {
        engine.lockAll();
        add(engine, 'key', 1n);
        engine.unlock();
      }
    }
    Atomics.store(word, 0, 2);
    const changes = (await counted) + VISITS;
    expect(read(engine, 'key').value).toBe(BigInt(changes));
  });
}

test('inside lockAll the resident keeps the store, and a visitor waits', async () => {
  const engine = makeEngine();
  const resident = Engine.attach(engine.buffer, 'resident');
  resident.lockAll();
  add(resident, 'key', 1n);
  const worker = new Worker(
    `import { workerData, parentPort } from 'node:worker_threads';
     const { Engine } = await import(workerData.engine);
     const view = Engine.attach(workerData.buffer);
     view.beginVisits();
     parentPort.postMessage('waits');
     view.visit(() => parentPort.postMessage('in'));`,
    {
      eval: true,
      workerData: { buffer: engine.buffer, engine: new URL('../../dist/index.js', import.meta.url).href },
    },
  );
  const heard: string[] = [];
  const isIn = new Promise<void>((resolve) => {
    worker.on('message', (text) => {
      heard.push(text);
      if (text === 'in') resolve();
    });
  });
  while (heard.length === 0) await new Promise(setImmediate);
  resident.rest();
  add(resident, 'key', 1n);
  expect(heard).toEqual(['waits']);
  resident.unlock();
  resident.rest();
  await isIn;
  await worker.terminate();
});

test('a resident that shares takes the locks of shards as all others do', () => {
  const engine = makeEngine();
  const resident = Engine.attach(engine.buffer, 'resident');
  engine.beginVisits();
  add(resident, 'key', 1n);
  resident.share();
  add(engine, 'key', 1n);
  engine.endVisits();
  add(resident, 'key', 1n);
  expect(read(engine, 'key').value).toBe(3n);
});

test('visitors do not wait for work before which the resident has ended its residence', () => {
  const engine = makeEngine();
  engine.beginVisits();
  const lane = Engine.attach(engine.buffer, 'resident');
  add(lane, 'a', 1n);
  const { memory } = engine.store;
  expect(memory[HeaderWord.storeLock]).not.toBe(0);
  lane.endResidence();
  lane.lockKeys(ByteInput.copyOf(Buffer.from('a')), Int32Array.of(0), Int32Array.of(1), 0, 1, 1);
  expect(memory[HeaderWord.storeLock]).toBe(0);
  const shardOf = (key: string) => engine.store.shardOf(ByteInput.copyOf(Buffer.from(key)), 0, key.length);
  const other = ['b', 'c', 'd', 'e', 'f', 'g', 'h'].find((key) => shardOf(key) !== shardOf('a'))!;
  add(engine, other, 1n);
  add(lane, 'a', 1n);
  lane.unlock();
  expect([read(engine, 'a').value, read(lane, other).value]).toEqual([2n, 1n]);
});
