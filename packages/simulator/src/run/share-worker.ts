import { parentPort, workerData } from 'node:worker_threads';
import { runShare, type Share } from './shares.js';

await runShare(workerData as Share, (one) => parentPort?.postMessage(one));
