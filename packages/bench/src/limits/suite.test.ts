import { expect, test } from 'vitest';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';

test('mistakes in the flags are reported together', async () => {
  const { code, progress } = await bench('limits', '--contest', 'none', '--rounds', '0');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toMatch(/--contest[\s\S]*--rounds/);
});
