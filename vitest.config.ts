import { defineConfig } from 'vitest/config';

/** Tests run on the sources; processes and workers that tests start run what `npm run build` made. */
export default defineConfig({
  resolve: { conditions: ['quotadb-source'] },
  ssr: { resolve: { conditions: ['quotadb-source', 'module', 'node', 'default'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts'],
    exclude: ['**/*.long.test.ts', '**/node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
