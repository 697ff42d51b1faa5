import { defineConfig } from 'vitest/config';
import { shared } from './vitest.shared.ts';

/** Soaks, crash loops and many seeds: minutes to hours, not part of `npm test`. */
export default defineConfig({
  ...shared,
  test: {
    ...shared.test,
    include: ['packages/*/src/**/*.long.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 3_600_000,
  },
});
