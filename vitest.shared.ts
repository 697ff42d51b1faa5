import type { ViteUserConfig } from 'vitest/config';

/**
 * Three suites, by the names of files:
 *
 *   x.test.ts        npm test           proves the whole system in seven to nine minutes on two cores
 *   x.full.test.ts   npm run test:full  every failure with real processes, more seeds, every planted mistake; in CI too
 *   x.long.test.ts   npm run test:long  soaks and crash loops: minutes to hours
 *
 * No test gets a second try. Tests run on the sources; processes and workers that they start run what `npm run build`
 * made.
 */
export const shared = {
  test: {
    server: { deps: { external: [/\/packages\/[\w-]+\/dist\//] } },
    exclude: ['**/*.{full,long}.test.ts', '**/node_modules/**'],
    testTimeout: 60_000,
    // A page or a process on a busy machine takes longer than the second that vitest gives a poll.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    retry: 0,
  },
} satisfies ViteUserConfig;

/** Most tests of processes and sockets wait for them: more of them than cores can run at once. */
export const WORKERS_FOR_PROCESSES = 3;
