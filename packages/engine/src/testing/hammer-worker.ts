import { parentPort, workerData } from 'node:worker_threads';
import { Engine } from '../keys/engine.js';
import { type HammerTask, hammer } from './hammer.js';

/** A thread of threads.test.ts: attaches to the shared store, waits for the others, does its task and reports. */
const { buffer, gate, task } = workerData as { buffer: SharedArrayBuffer; gate: Int32Array; task: HammerTask };
const engine = Engine.attach(buffer);
Atomics.add(gate, 0, 1);
Atomics.wait(gate, 1, 0);
parentPort?.postMessage(hammer(engine, task));
