import { test } from 'vitest';
import { findExecutable } from '../machine/executable.js';
import { runBench } from '../run-bench.js';
import { findQuotaDB } from '../servers/quotadb.js';

/** Runs `quotadb bench` in this process: its exit code, its results, and its progress and mistakes. */
export async function bench(...argv: string[]): Promise<{ code: number; printed: string; progress: string }> {
  const printed: string[] = [];
  const progress: string[] = [];
  const code = await runBench(argv, {
    print: (text) => printed.push(text),
    progress: (text) => progress.push(text),
  });
  return { code, printed: printed.join('\n'), progress: progress.join('\n') };
}

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
  const needed = ['redis-server', 'redis-benchmark'].find((name) => findExecutable(name) === undefined);
  return needed ?? (findQuotaDB() === undefined ? 'quotadb' : undefined);
}
