import { test } from 'vitest';
import { findExecutable } from '../servers/find-executable.js';
import { findQuotaDB } from '../servers/quotadb.js';

/** Tests that need Redis are skipped where it is not installed, and fail in CI, where it must be. */
export function testWithRedis(name: string, run: () => Promise<void>, timeoutMs: number): void {
  const missing = missingProgram();
  if (missing === undefined) test(name, run, timeoutMs);
  else if (process.env.CI === 'true') {
    test(name, () => {
      throw new Error(`${missing} is needed for this test in CI`);
    });
  } else test.skip(`${name} (skipped: no ${missing} on this machine)`, () => {});
}

function missingProgram(): string | undefined {
  if (findExecutable('redis-server') === undefined) return 'redis-server';
  if (findExecutable('redis-benchmark') === undefined) return 'redis-benchmark';
  return findQuotaDB() === undefined ? 'quotadb' : undefined;
}
