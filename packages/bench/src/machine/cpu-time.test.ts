import { expect, test } from 'vitest';
import { cpuMicrosecondsBetween, parseProcessMicroseconds, sampleCpu } from './cpu-time.js';

test.runIf(process.platform === 'linux')('the CPU time of a process is about what it says itself', () => {
  const own = process.cpuUsage();
  const before = sampleCpu(process.pid)!;
  const until = process.cpuUsage(own).user + 50_000;
  while (process.cpuUsage(own).user < until) Math.sqrt(until);
  const seen = cpuMicrosecondsBetween(before, sampleCpu(process.pid)!);
  expect(seen).toBeGreaterThan(25_000);
});

test('a thread that is new counts from zero, one that ended takes nothing away', () => {
  const before = new Map([
    ['1', 100],
    ['2', 5000],
  ]);
  const after = new Map([
    ['1', 150],
    ['3', 30],
  ]);
  expect(cpuMicrosecondsBetween(before, after)).toBe(80);
});

test('ticks are read behind a command name that holds anything', () => {
  const stat = '7 (a ) name) S 1 2 3 0 -1 4194560 7313 0 0 0 41 100 0 0 20 0 5';
  expect(parseProcessMicroseconds(stat)).toBe(1_410_000);
});

test('a process that is not there has no CPU time', () => {
  expect(sampleCpu(2 ** 30)).toBeUndefined();
});
