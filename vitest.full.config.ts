import { defineConfig } from 'vitest/config';
import { shared, WORKERS_FOR_PROCESSES } from './vitest.shared.ts';

/** Tests that talk to a server over a socket: those that use `startTestServer`. They hold on every transport. */
const overSockets = [
  'packages/server/src/resp/{transport,connection-faults,redis-words}.test.ts',
  'packages/server/src/durability/durability.test.ts',
  'packages/server/src/differential/{differential,differences}.test.ts',
  'packages/server/src/cluster/cluster.test.ts',
  'packages/server/src/quotas/quotas.test.ts',
  'packages/server/src/limits/limits.test.ts',
  'packages/server/src/metrics/metrics.test.ts',
];

/** Whole clients of others, against the lanes that most will run. */
const withClients = ['packages/server/src/clients/*.test.ts'];

/**
 * `npm run test:full`: what `npm test` leaves out; and the tests that go over a socket again, on one epoll lane and on
 * four (`npm test` has them over node:net).
 */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    // Projects add to this list; they cannot take from it.
    exclude: ['**/*.long.test.ts', '**/node_modules/**'],
    maxWorkers: WORKERS_FOR_PROCESSES,
    projects: [
      {
        extends: true,
        test: {
          name: 'full',
          include: ['packages/*/src/**/*.full.test.ts'],
        },
      },
      ...((await hasEpoll())
        ? [repeated('epoll-1', overSockets), repeated('epoll-4', [...overSockets, ...withClients])]
        : []),
    ],
  },
});

function repeated(transport: string, include: string[]) {
  return {
    extends: true as const,
    test: {
      name: transport,
      include,
      exclude: ['**/*.full.test.ts'],
      env: { QUOTADB_TEST_TRANSPORT: transport },
    },
  };
}

/** Where there is no epoll its tests are left out with a message, except in CI, where they run and fail. */
async function hasEpoll(): Promise<boolean> {
  const found = process.platform === 'linux' && (await import('koffi').then(Boolean, () => false));
  if (!found) process.stderr.write('no koffi or no Linux: the tests over epoll are skipped\n');
  return found || process.env.CI === 'true';
}
