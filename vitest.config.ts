import { defineConfig } from 'vitest/config';
import { shared } from './vitest.shared.ts';

/** Tests that talk to a server over a socket: those that use `startTestServer`. They hold on every transport. */
const overSockets = [
  'packages/server/src/transport/{transport,connection-faults}.test.ts',
  'packages/server/src/durability/durability.test.ts',
  'packages/server/src/differential/{differential,differences}.test.ts',
  'packages/server/src/clients/*.test.ts',
  'packages/server/src/commands/redis-words.test.ts',
  'packages/server/src/quotas/quotas.test.ts',
  'packages/server/src/metrics/metrics.test.ts',
];

/** Everything once, over node:net; then what goes over a socket again over epoll, on one lane and on four. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    projects: [
      { extends: true, test: { name: 'net', include: ['packages/*/src/**/*.test.ts'] } },
      ...((await hasEpoll()) ? ['epoll-1', 'epoll-4'].map(repeated) : []),
    ],
  },
});

function repeated(transport: string) {
  return {
    extends: true as const,
    test: { name: transport, include: overSockets, env: { QUOTADB_TEST_TRANSPORT: transport } },
  };
}

/** Where there is no epoll its tests are left out with a message, except in CI, where they run and fail. */
async function hasEpoll(): Promise<boolean> {
  const found = process.platform === 'linux' && (await import('koffi').then(Boolean, () => false));
  if (!found) process.stderr.write('no koffi or no Linux: the tests over epoll are skipped\n');
  return found || process.env.CI === 'true';
}
