import { expect, test } from 'vitest';
import { Deadlines } from './deadlines.js';

test('everything is told once, not before its time and soon after it, however often that was changed', () => {
  const deadlines = new Deadlines(0);
  const told: [string, number][] = [];
  for (let nowMs = 0; nowMs <= 20_000; nowMs += 50) {
    if (nowMs === 0) for (const name of ['put off', 'brought forward', 'dropped']) deadlines.set(name, 5000);
    if (nowMs <= 4000) deadlines.set('put off', nowMs + 5000);
    if (nowMs === 1000) deadlines.set('brought forward', 1500);
    if (nowMs === 2000) deadlines.delete('dropped');
    deadlines.pass(nowMs, (name) => told.push([name, nowMs]));
  }
  expect(told.map(([name]) => name)).toEqual(['brought forward', 'put off']);
  expect(told[0][1]).toBeGreaterThanOrEqual(1500);
  expect(told[0][1]).toBeLessThanOrEqual(1700);
  expect(told[1][1]).toBeGreaterThanOrEqual(9000);
  expect(told[1][1]).toBeLessThanOrEqual(9200);
});
