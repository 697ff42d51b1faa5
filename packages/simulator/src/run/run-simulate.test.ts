import { expect, test } from 'vitest';
import { PLANS } from './plans.js';
import { runSimulate } from './run-simulate.js';
import { shrink } from './shrink.js';

test.each([
  ['counters', 'what others counted is added to the own counts'],
  ['quotas', 'tokens that a local balance gives back are given back twice'],
] as const)('a failing schedule of %s is made smaller and still fails', async (name, planted) => {
  const { simulate, mistakes } = PLANS[name];
  const mistake = mistakes.find((each) => each.name === planted);
  const { plan, failures } = await simulate(1, mistake);
  expect(failures.length).toBeGreaterThan(0);
  const only = await shrink(name, 1, { ...mistake }, 60);
  expect(only.size).toBeLessThan(plan.steps.length / 2);
  expect((await simulate(1, { ...mistake, only })).failures.length).toBeGreaterThan(0);
});

test('a failing seed is named with the command that replays it', async () => {
  const lines: string[] = [];
  const mistake =
    1 +
    PLANS.quotas.mistakes.findIndex(
      ({ name }) => name === 'tokens that a local balance gives back are given back twice',
    );
  const request = {
    kind: 'quotas',
    isUnsynced: false,
    threads: 1,
    seconds: 600,
    traces: false,
    shrinks: false,
  } as const;
  expect(await runSimulate({ ...request, mistake, from: 1, count: 1 }, (line) => lines.push(line))).toBe(false);
  expect(lines.join('\n')).toMatch(/seed 1 FAILS: .*\n +replay: quotadb simulate --quotas --seed 1 --trace/);
  expect(await runSimulate({ ...request, from: 1, count: 2 }, (line) => lines.push(line))).toBe(true);
  expect(lines.at(-1)).toMatch(/^2 schedules from seed 1 on, 0 failed/);
});
