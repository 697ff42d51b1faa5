import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Soaks, crash loops and many seeds: minutes to hours, not part of `npm test`. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: ['**/node_modules/**'] } },
  defineConfig({ test: { include: ['packages/*/src/**/*.long.test.ts'], testTimeout: 3_600_000 } }),
);
