import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/**
 * Garbage costs more than the commands themselves, so the commands that everything is measured on make none. A heap
 * whose young generation is too large to be collected meanwhile shows every byte; that takes a process of its own.
 */
const LANE = new URL('../../dist/testing/test-lane.js', import.meta.url);
const MEASURE = `
  import { encodeCommand, TestLane } from ${JSON.stringify(LANE)};
  const lane = new TestLane();
  const { session } = lane.open();
  const bytesPerCommand = {};
  for (const words of [
    ['INCR', 'visits:0042'],
    ['INCRBY', 'visits:0042', '17'],
    ['GET', 'visits:0042'],
    ['WINDOW.INCRBY', 'visits:0042', '60s', '17'],
    ['WINDOW.GET', 'visits:0042', '60000'],
    ['RATE.LIMIT', 'visits:0042', '1000000000', '60s'],
    ['PING'],
  ]) {
    const pipeline = Buffer.from(encodeCommand(...words).repeat(64));
    const run = (count) => {
      for (let turn = 0; turn < count; turn++) {
        session.receive(pipeline);
        lane.lane.reply.reset();
      }
    };
    run(5000);
    gc();
    const before = process.memoryUsage().heapUsed;
    run(5000);
    bytesPerCommand[words[0]] = (process.memoryUsage().heapUsed - before) / (5000 * 64);
  }
  console.log(JSON.stringify(bytesPerCommand));
`;

/** Less than the smallest object: the garbage of a whole turn, spread over its commands. */
const NEXT_TO_NOTHING_BYTES = 4;

const MEASURED = ['INCR', 'INCRBY', 'GET', 'WINDOW.INCRBY', 'WINDOW.GET', 'RATE.LIMIT', 'PING'];

test('running INCR, INCRBY, GET, WINDOW.INCRBY, WINDOW.GET, RATE.LIMIT and PING makes no garbage', () => {
  const flags = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256', '--input-type=module'];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', MEASURE], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const bytesPerCommand: Record<string, number> = JSON.parse(stdout);
  expect(Object.keys(bytesPerCommand)).toEqual(MEASURED);
  for (const bytes of Object.values(bytesPerCommand)) expect(bytes).toBeLessThan(NEXT_TO_NOTHING_BYTES);
});
