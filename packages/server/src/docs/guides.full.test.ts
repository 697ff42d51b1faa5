import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { QUOTADB_BINARY, spawnServer } from '../testing/index.js';
import { awaitRoomInWindows, consoleExamples, withoutChance } from './testing/console-blocks.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const areThere = ['script', 'curl', 'bash'].every(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
);

/** Pages with console blocks. The first steps, counts, Envoy and clusters have tests of their own. */
const guides = ['README.md', ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(inDocs)]
  .filter((path) => path.endsWith('.md') && !/docs\/(?:start|counts|envoy|cluster)\.md$/.test(path))
  .map((path) => ({ path, examples: consoleExamples(readFileSync(join(root, path), 'utf8')) }))
  .filter(({ examples }) => examples.length > 0);

describe.skipIf(!areThere && process.env.CI !== 'true')('the guides', () => {
  test('have examples', () => {
    expect(guides.length).toBeGreaterThan(8);
  });

  test.each(guides)('the commands of $path print what it shows', { timeout: 120_000 }, async ({ examples }) => {
    const server = spawnServer(['--transport', 'net', '--max-memory', '16mb']);
    try {
      const { resp, http } = await server.ready();
      await awaitRoomInWindows(examples.map(({ command }) => command).join('\n'));
      for (const { command, printed } of examples) {
        const local = command
          .replaceAll('localhost:8380', `127.0.0.1:${http}`)
          .replaceAll('npx quotadb cli', `'${process.execPath}' '${QUOTADB_BINARY}' cli --resp ${resp}`);
        const { stdout } = await run('script', ['-qec', local, '/dev/null'], {
          env: { ...process.env, SHELL: '/bin/bash' },
        });
        expect(withoutChance(stdout), command).toBe(withoutChance(printed));
      }
    } finally {
      await server.stop();
    }
  });
});

function inDocs(path: string): string {
  return join('docs', path);
}
