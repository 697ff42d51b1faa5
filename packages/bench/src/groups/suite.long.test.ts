import { expect } from 'vitest';
import { ExitCode } from '../run-bench.js';
import { bench, testWithRedis } from '../testing/bench.js';

testWithRedis(
  'counts on one group and on two, and the fuller node of two holds less than the one',
  async () => {
    const { code, printed, progress } = await bench('groups', '--smoke', '--keys', '20000');
    expect(code, progress).toBe(ExitCode.Ok);
    const mebibytes = [...printed.matchAll(/^(\d) groups, pipeline 16: ([\d.]+) MiB/gm)];
    expect(mebibytes.map(([, groups]) => groups)).toEqual(['1', '2']);
    expect(Number(mebibytes[1]?.[2])).toBeLessThan(Number(mebibytes[0]?.[2]));
  },
  600_000,
);
