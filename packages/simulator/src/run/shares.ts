import { Worker } from 'node:worker_threads';
import { PLANS, type PlanName } from './plans.js';

/** The schedules of one thread: from a seed on, every `stride`-th. */
export interface Share {
  readonly kind: PlanName;
  readonly mistake?: number | undefined;
  readonly only?: ReadonlySet<number> | undefined;
  readonly isUnsynced: boolean;
  readonly from: number;
  readonly stride: number;
  readonly count: number;
  readonly seconds: number;
}

/** One schedule that is over, and how it failed, if it did. */
export interface Finished {
  readonly seed: number;
  readonly failure: string | undefined;
}

const WORKER = new URL('../../dist/run/share-worker.js', import.meta.url);

export async function runShare(share: Share, finished: (one: Finished) => void): Promise<void> {
  const { simulate, mistakes } = PLANS[share.kind];
  const planted = share.mistake === undefined ? undefined : mistakes[share.mistake - 1];
  const { isUnsynced } = share;
  const options = { ...planted, isUnsynced, ...(share.only && { only: share.only }) };
  const endsAtMs = performance.now() + share.seconds * 1000;
  for (let index = 0; index < share.count && performance.now() <= endsAtMs; index++) {
    const { seed, failures } = await simulate(share.from + index * share.stride, options);
    finished({ seed, failure: failures[0] });
  }
}

/** The same on several threads at once: schedules are independent of each other. */
export async function runOnThreads(
  whole: Omit<Share, 'stride'>,
  threads: number,
  finished: (one: Finished) => void,
): Promise<void> {
  const shares = Array.from({ length: threads }, (_, index) => ({
    ...whole,
    from: whole.from + index,
    stride: threads,
    count: Math.ceil((whole.count - index) / threads),
  }));
  await Promise.all(
    shares.map(
      (share) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(WORKER, { workerData: share, execArgv: [] });
          worker.on('message', finished);
          worker.on('error', reject);
          worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with ${code}`))));
        }),
    ),
  );
}
