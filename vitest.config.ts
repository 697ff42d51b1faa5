import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { shared, WORKERS_FOR_PROCESSES } from './vitest.shared.ts';

/** Tests of nothing but code: simulated time, no sockets, no processes. */
const code = ['packages/{config,engine,quota,rate,simulator,wire}/src/**/*.test.ts'];

/** `npm test`: code first, on all cores; then processes, sockets and disks. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'code',
          include: code,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'net',
          include: ['packages/*/{src,page}/**/*.test.ts'],
          exclude: [...shared.test.exclude, ...code],
          maxWorkers: WORKERS_FOR_PROCESSES,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
