import { defineConfig } from 'vitest/config';
import { shared } from './vitest.shared.ts';

/** Real processes under what a chaotic week of operation does to them: each ends in seconds, so CI runs them too. */
const OPERATION = [
  'durability/recovery.full',
  'durability/small-disk.full',
  'quotas/kills.full',
  'quotas/quotas',
  'quotas/regions.full',
  'quotas/remint.full',
  'replication/clock-ahead',
  'replication/restarts.full',
  'replication/twins.full',
];

/** Soaks, crash loops and many seeds: minutes to hours, not part of `npm test`. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    include: ['packages/*/src/**/*.long.test.ts', ...OPERATION.map((name) => `packages/server/src/${name}.test.ts`)],
    exclude: ['**/node_modules/**'],
    testTimeout: 3_600_000,
  },
});
