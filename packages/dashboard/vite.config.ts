import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** One page with everything in it: it works on a machine that sees nothing but the server. */
export default defineConfig({
  root: fileURLToPath(new URL('page', import.meta.url)),
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('dist/page', import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
