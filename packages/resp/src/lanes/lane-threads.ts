import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Configuration } from '@quotadb/config';
import { inlineSmallFunctions } from './inlining.js';

/** More lanes than this gained nothing on the machines that were measured. */
const MAXIMUM_USUAL_LANES = 8;

/** Lanes run what was built and bundled, also when this file runs from its source. */
const PACKAGE = dirname(createRequire(import.meta.url).resolve('@quotadb/resp/package.json'));
const WORKER = join(PACKAGE, 'dist/bundle/lane-worker.js');

/**
 * V8 lets the space of new objects grow to three times 16 MB, of which a lane, whose objects die young, uses all and
 * gains nothing: collecting it takes a fraction of a millisecond at any size.
 */
const YOUNG_OBJECTS_MB = 6;

const begun: Worker[] = [];

/** Starts the threads of lanes: they load their code while the main thread still loads its own. */
export function beginLaneThreads(config: Configuration): void {
  if (process.platform !== 'linux' || config.transport === 'net' || config.respPort === -1) return;
  for (let lane = begun.length; lane < laneCountOf(config); lane++) begun.push(newThread(lane));
}

/** The thread of a lane, which does nothing until it gets a LaneStart. */
export function takeLaneThread(lane: number): Worker {
  const worker = begun.shift() ?? newThread(lane);
  worker.ref();
  return worker;
}

/** Ends those that turn out not to be needed. */
export function endLaneThreads(): void {
  for (const worker of begun.splice(0)) void worker.terminate();
}

export function laneCountOf({ laneCount }: Configuration): number {
  // The main thread has one core: where there are more busy threads than cores, each waits milliseconds for its turn.
  return laneCount || Math.max(1, Math.min(availableParallelism() - 1, MAXIMUM_USUAL_LANES));
}

function newThread(lane: number): Worker {
  inlineSmallFunctions();
  // Flags of the main thread, such as import conditions of a test runner, do not fit the built files.
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_OBJECTS_MB };
  const worker = new Worker(WORKER, { name: `lane-${lane}`, execArgv: [], resourceLimits });
  worker.unref();
  return worker;
}
