import { Engine } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { nodeFileSystem } from '../files/file-system.js';
import { Log } from './log.js';

/**
 * A timer would make schedules of the simulator depend on real time, and would run for ever where the work never ends.
 */
test('who waits for work of its own thread on the log goes on as soon as that is over, without a timer', async () => {
  const engine = Engine.format({ maxMemoryBytes: 0, origin: new Uint8Array(32), nowMs: Date.now(), shardCount: 1 });
  const log = new Log({ fileSystem: nodeFileSystem, directory: '/nowhere', engine });
  const order: string[] = [];
  let finish = () => {};
  const first = log.exclusively(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    order.push('first');
  });
  const second = log.exclusively(async () => order.push('second'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  finish();
  await first;
  await new Promise((resolve) => process.nextTick(resolve));
  expect(order).toEqual(['first', 'second']);
  await second;
});
