import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { shared } from './vitest.shared.ts';

/** Tests of nothing but code: simulated time, no sockets, no processes. They hold whatever else the machine does. */
const withoutClocks = ['packages/{engine,quota,rate,simulator,wire}/src/**/*.test.ts'];

/** Tests that talk to a server over a socket: those that use `startTestServer`. They hold on every transport. */
const overSockets = [
  'packages/server/src/transport/{transport,connection-faults}.test.ts',
  'packages/server/src/durability/durability.test.ts',
  'packages/server/src/differential/{differential,differences}.test.ts',
  'packages/server/src/commands/redis-words.test.ts',
  'packages/server/src/quotas/quotas.test.ts',
  'packages/server/src/metrics/metrics.test.ts',
];

/** Whole clients of others, against the lanes that most will run. */
const withClients = ['packages/server/src/clients/*.test.ts'];

/**
 * Code first, on all cores. Then processes, sockets and disks, one file at a time, over node:net; and what goes over a socket again
 * over epoll, on one lane and on four.
 */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'code',
          include: withoutClocks,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      real('net', { include: ['packages/*/src/**/*.test.ts'], exclude: [...shared.test.exclude, ...withoutClocks] }),
      ...((await hasEpoll()) ? ['epoll-1', 'epoll-4'].map(repeated) : []),
    ],
  },
});

function repeated(transport: string) {
  const include = transport === 'epoll-4' ? [...overSockets, ...withClients] : overSockets;
  return real(transport, { include, env: { QUOTADB_TEST_TRANSPORT: transport } });
}

/**
 * Real processes and real time, on a machine that others use too. In CI one that fails gets a second try, and the report says which
 * did; one that fails twice fails. Tests of code alone never do.
 */
function real(name: string, options: { include: string[]; exclude?: string[]; env?: Record<string, string> }) {
  return {
    extends: true as const,
    test: {
      name,
      ...options,
      maxWorkers: 1,
      retry: process.env.CI === 'true' ? 1 : 0,
      sequence: { groupOrder: 1 },
    },
  };
}

/** Where there is no epoll its tests are left out with a message, except in CI, where they run and fail. */
async function hasEpoll(): Promise<boolean> {
  const found = process.platform === 'linux' && (await import('koffi').then(Boolean, () => false));
  if (!found) process.stderr.write('no koffi or no Linux: the tests over epoll are skipped\n');
  return found || process.env.CI === 'true';
}
