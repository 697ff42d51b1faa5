import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';
import { FACTS_OVER_HTTP } from './over-http-facts.js';

/** `@quotadb/client/http`, bundled for browsers as Vite does it, in a page of the server's own origin. */
const here = fileURLToPath(new URL('.', import.meta.url));
const clientUrl = fileURLToPath(new URL('../../../../client/dist/http/index.js', import.meta.url));

/** What the README states; the rest of the client is not in it. */
const LARGEST_BUNDLE_BYTES = 40_000;

describeWithChromium('the client over HTTP in a browser', () => {
  let server: TestServer;
  let directory: string;
  let bundle: string;
  beforeAll(async () => {
    [server, directory] = await Promise.all([startTestServer(), mkdtemp(join(tmpdir(), 'quotadb-bundle-'))]);
    const program = join(here, 'over-http.mjs');
    const entry = join(directory, 'entry.mjs');
    await writeFile(
      entry,
      `import * as client from ${JSON.stringify(clientUrl)};
       import { factsOverHttp } from ${JSON.stringify(program)};
       self.facts = factsOverHttp(client, self.origin);`,
    );
    const built = await build({
      root: directory,
      configFile: false,
      logLevel: 'error',
      build: { lib: { entry, formats: ['iife'], name: 'bundle' }, write: false },
    });
    const [{ output }] = [built].flat() as { output: { code: string }[] }[];
    bundle = output[0]!.code;
  });
  afterAll(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('does what it does everywhere, in a page and in a worker', async () => {
    expect(bundle.length).toBeLessThan(LARGEST_BUNDLE_BYTES);
    const browser = await launchChromium();
    try {
      const page = await (await browser.newContext({ bypassCSP: true })).newPage();
      await page.goto(`http://127.0.0.1:${server.httpPort}/readyz`);
      await page.addScriptTag({ content: bundle });
      expect(await page.evaluate('self.facts')).toEqual(FACTS_OVER_HTTP);
      const inWorker = `new Promise((resolve, reject) => {
        const program = ${JSON.stringify(`${bundle}\nself.facts.then(postMessage, (error) => postMessage(String(error)));`)};
        const worker = new Worker(URL.createObjectURL(new Blob([program], { type: 'text/javascript' })));
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
      })`;
      expect(await page.evaluate(inWorker)).toEqual(FACTS_OVER_HTTP);
    } finally {
      await browser.close();
    }
  });
});
