import type { ViteUserConfig } from 'vitest/config';

/** Tests run on the sources; processes and workers that tests start run what `npm run build` made. */
export const shared = {
  resolve: { conditions: ['quotadb-source'] },
  ssr: { resolve: { conditions: ['quotadb-source', 'module', 'node', 'default'] } },
  test: {
    exclude: ['**/*.long.test.ts', '**/node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
} satisfies ViteUserConfig;
