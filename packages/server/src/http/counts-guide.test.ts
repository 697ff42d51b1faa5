import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { consoleExamples } from '../docs/testing/console-blocks.js';
import { spawnServer } from '../testing/index.js';

const run = promisify(execFile);
const GUIDE = new URL('../../../../docs/counts.md', import.meta.url);
const curlFound = spawnSync('curl', ['--version']).status === 0;
const describeWithCurl = curlFound || process.env.CI === 'true' ? describe : describe.skip;

const withoutTimes = (text: string) => text.replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"a time"');

describeWithCurl('the guide to the counts API', () => {
  test('prints what its commands print', async () => {
    const server = spawnServer(['--transport', 'net', '--max-memory', '16mb']);
    try {
      const { http } = await server.ready();
      const all = consoleExamples(readFileSync(GUIDE, 'utf8'));
      expect(all.length).toBeGreaterThan(8);
      for (const { command, printed } of all) {
        const { stdout } = await run('bash', ['-c', command.replaceAll('localhost:8380', `127.0.0.1:${http}`)]);
        expect(withoutTimes(stdout.trimEnd()), command).toBe(withoutTimes(printed));
      }
    } finally {
      await server.stop();
    }
  });
});
