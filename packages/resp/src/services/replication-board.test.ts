import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { MAXIMUM_REGIONS, ReplicationBoard } from './replication-board.js';

test('a member counts as soon as it has everything, in every shard', () => {
  const board = new ReplicationBoard(2);
  board.publish(() => board.setMembers([[5, 5], [5, 4], undefined]));
  expect(board.acknowledgedBy([5, 5])).toBe(1);
  expect(board.acknowledgedBy([5, 4])).toBe(2);
  expect(board.acknowledgedBy([0, 0])).toBe(3);
  board.publish(() => board.setMembers([]));
  expect(board.acknowledgedBy([0, 0])).toBe(0);
});

test('every reader of the shared memory gets the description as it was written', () => {
  const board = new ReplicationBoard(4);
  expect(board.description()).toBe('');
  board.publish(() => {
    board.setRegions([1, -1]);
    board.setDescription({ regions: ['eü', 'ap'] });
  });
  const other = new ReplicationBoard(4, board.buffer);
  expect(JSON.parse(other.description())).toEqual({ regions: ['eü', 'ap'] });
  expect(other.regionsAsOf()).toEqual([1, -1]);
});

test('more regions than there is room for, and a description that is too long, harm nothing', () => {
  const board = new ReplicationBoard(1);
  board.publish(() => {
    board.setRegions(Array.from({ length: MAXIMUM_REGIONS + 5 }, () => 1));
    board.setMembers(Array.from({ length: MAXIMUM_REGIONS + 5 }, () => [1]));
    board.setDescription({ fits: true });
  });
  board.publish(() => board.setDescription({ long: 'x'.repeat(100_000) }));
  expect(board.regionsAsOf()).toHaveLength(MAXIMUM_REGIONS);
  expect(board.acknowledgedBy([1])).toBe(MAXIMUM_REGIONS);
  expect(JSON.parse(board.description())).toEqual({ fits: true });
});

test('a reader during a write of another thread sees one state or the next, never a mixture', async () => {
  const board = new ReplicationBoard(64);
  const module = new URL('../../dist/services/replication-board.js', import.meta.url).href;
  const code = `
    const { workerData } = require('node:worker_threads');
    import(${JSON.stringify(module)}).then(({ ReplicationBoard }) => {
      const board = new ReplicationBoard(64, workerData);
      for (let round = 1; round <= 20_000; round++)
        board.publish(() => board.setRegions([round, round, round, round]));
    });`;
  const worker = new Worker(code, { eval: true, workerData: board.buffer });
  const ended = new Promise<number>((resolve) => worker.once('exit', resolve));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    for (let reading = 0; reading < 1000; reading++) expect(new Set(board.regionsAsOf()).size).toBeLessThanOrEqual(1);
    await new Promise(setImmediate);
  }
  expect(await ended).toBe(0);
  expect(board.regionsAsOf()).toEqual([20_000, 20_000, 20_000, 20_000]);
});
