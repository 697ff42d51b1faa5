import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { SharedControl } from './shared-control.js';

test('connections go to the lane that has the fewest, and come out as they went in', () => {
  const control = SharedControl.create(3);
  const lanes = Array.from({ length: 9 }, (_, index) => control.admit(100 + index, 0, 1000));
  expect(lanes).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
  expect([control.take(1), control.take(1), control.take(1), control.take(1)]).toEqual([101, 104, 107, -1]);
  // Its own are with the lane that accepted them.
  expect(control.take(0)).toBe(-1);
  control.release(1);
  control.release(1);
  expect([control.admit(1, 0, 1000), control.admit(2, 0, 1000), control.admit(3, 0, 1000)]).toEqual([1, 1, 0]);
});

test('no more than the maximum are admitted, and not more than a lane can take', () => {
  const control = SharedControl.create(2);
  expect([1, 2, 3].map((fd) => control.admit(fd, 0, 2))).toEqual([0, 1, SharedControl.REFUSED]);
  expect(control.connectionCount()).toBe(2);
  control.release(0);
  expect(control.admit(4, 0, 2)).toBe(0);
});

test('a lane that does not take its connections gets no more, until it does', () => {
  const control = SharedControl.create(2);
  const lanes = Array.from({ length: 5000 }, (_, fd) => control.admit(fd, 0, 10_000));
  const given = lanes.flatMap((lane, fd) => (lane === 1 ? [fd] : []));
  expect(given).toHaveLength(1024);
  expect(lanes.slice(-100)).toEqual(new Array(100).fill(0));
  expect(control.take(1)).toBe(given[0]);
  expect([control.admit(9998, 0, 10_000), control.admit(9999, 0, 10_000)]).toEqual([1, 0]);
  const rest: number[] = [];
  for (let fd = control.take(1); fd !== -1; fd = control.take(1)) rest.push(fd);
  expect(rest).toEqual([...given.slice(1), 9998]);
});

const ADMIT = `
  import { parentPort, workerData } from 'node:worker_threads';
  import { SharedControl } from ${JSON.stringify(new URL('../../dist/lanes/shared-control.js', import.meta.url))};
  const control = new SharedControl(4, workerData.buffer);
  const kept = [];
  const taken = [];
  const take = () => {
    for (let fd = control.take(workerData.lane); fd !== -1; fd = control.take(workerData.lane)) taken.push(fd);
  };
  for (let index = 0; index < 20_000; index++) {
    const fd = workerData.lane * 100_000 + index;
    const lane = control.admit(fd, workerData.lane, 1_000_000);
    if (lane === workerData.lane) kept.push(fd);
    take();
  }
  parentPort.postMessage({ kept, taken });
`;

test('lanes that admit at the same time lose none and give none twice', async () => {
  const control = SharedControl.create(4);
  const url = new URL(`data:text/javascript,${encodeURIComponent(ADMIT)}`);
  const results = await Promise.all(
    [0, 1, 2, 3].map(
      (lane) =>
        new Promise<{ kept: number[]; taken: number[] }>((resolve, reject) => {
          const worker = new Worker(url, { workerData: { buffer: control.buffer, lane }, execArgv: [] });
          worker.once('message', resolve);
          worker.once('error', reject);
        }),
    ),
  );
  const left = [0, 1, 2, 3].flatMap((lane) => {
    const fds: number[] = [];
    for (let fd = control.take(lane); fd !== -1; fd = control.take(lane)) fds.push(fd);
    return fds;
  });
  const all = [...results.flatMap(({ kept, taken }) => [...kept, ...taken]), ...left];
  expect(all).toHaveLength(80_000);
  expect(new Set(all).size).toBe(80_000);
  expect(control.connectionCount()).toBe(80_000);
});
