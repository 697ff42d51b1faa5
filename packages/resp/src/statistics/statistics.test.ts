import { expect, test } from 'vitest';
import { CommandStatistics } from './command-statistics.js';
import { ErrorStatistics } from './error-statistics.js';
import { LatencyMonitor } from './latency-monitor.js';
import { RateSampler } from './rate-sampler.js';

test('the time of a turn is shared among its commands by how often they ran', () => {
  const statistics = new CommandStatistics(3);
  for (const command of [0, 0, 0, 2]) statistics.countInTurn(command);
  expect(statistics.endTurn(40)).toBe(4);
  expect([...statistics.calls]).toEqual([3, 0, 1]);
  expect([...statistics.microseconds]).toEqual([30, 0, 10]);
  expect(statistics.endTurn(99)).toBe(0);
  expect([...statistics.microseconds]).toEqual([30, 0, 10]);
});

test('errors are counted by code, and no more codes than fit', () => {
  const statistics = new ErrorStatistics();
  for (let code = 0; code < 1000; code++) statistics.count(`CODE${code}`);
  statistics.count('CODE0');
  expect(statistics.total).toBe(1001);
  expect(statistics.counts.size).toBe(ErrorStatistics.MAXIMUM_CODES);
  expect(statistics.counts.get('CODE0')).toBe(2);
});

test('a rate is the mean of the last samples', () => {
  const sampler = new RateSampler();
  for (let sample = 0; sample <= RateSampler.SAMPLES; sample++) sampler.sample(sample * 50, 1000 + sample * 100);
  expect(sampler.rate()).toBe(500);
  sampler.reset();
  expect(sampler.rate()).toBe(0);
});

test('a latency event keeps the worst of each second, and a bounded number of seconds', () => {
  const monitor = new LatencyMonitor();
  for (let second = 0; second < 500; second++) {
    monitor.record('event', second * 1000, 5);
    monitor.record('event', second * 1000 + 1, 9);
  }
  const [event] = monitor.all();
  expect(event.samples).toHaveLength(LatencyMonitor.MAXIMUM_SAMPLES);
  expect(event.samples.at(-1)).toEqual([499, 9]);
});
