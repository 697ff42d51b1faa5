import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

/** The package as it would be published, installed into an empty directory. */
const packages = [
  {
    name: 'client',
    program: `
      import { Quota, QuotadbClient, RateLimiter } from '@quotadb/client';
      const client = QuotadbClient.open({ port: Number(process.env.RESP_PORT) });
      console.log(await client.increment('packed', 3), typeof Quota, typeof RateLimiter);
      await client[Symbol.asyncDispose]();
    `,
    says: '3 function function',
  },
  {
    name: 'windows',
    program: `
      import { MemoryWindowStore, QuotadbWindowStore, TimeWindowCounter } from '@quotadb/windows';
      const counter = new TimeWindowCounter({ store: new MemoryWindowStore(), durationMs: 60_000 });
      console.log(String((await counter.increment('key', 3)).count), typeof QuotadbWindowStore);
    `,
    says: '3 function',
  },
];
const LARGEST_PACKAGE_BYTES = 60_000;

let server: TestServer;
let directory: string;
beforeAll(async () => {
  server = await startTestServer();
  directory = await mkdtemp(join(tmpdir(), 'quotadb-packed-'));
});
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

describe.each(packages)('@quotadb/$name', ({ name, program, says }) => {
  let installed: string;
  let files: string[];

  beforeAll(async () => {
    const source = fileURLToPath(new URL(`../../../../${name}`, import.meta.url));
    const [{ filename }] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--pack-destination', directory], {
        cwd: source,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    const archive = join(directory, filename);
    expect((await readFile(archive)).length).toBeLessThan(LARGEST_PACKAGE_BYTES);
    installed = join(directory, name, 'node_modules', '@quotadb', name);
    await mkdir(installed, { recursive: true });
    execFileSync('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
    files = await readdir(installed, { recursive: true });
  });

  test('works alone: it depends on nothing', async () => {
    const { dependencies = {} } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(dependencies).toEqual({});
    const main = join(directory, name, 'main.mjs');
    await writeFile(main, program);
    const environment = { ...process.env, RESP_PORT: String(server.port), NODE_PATH: '' };
    const { stdout } = await promisify(execFile)(process.execPath, [main], { env: environment });
    expect(stdout.trim()).toBe(says);
  });

  test('has what it needs and no tests: code, types, a README', () => {
    expect(files).toEqual(expect.arrayContaining(['README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']));
    expect(files.filter((file) => /\.test\.|testing|\.map$|tsbuildinfo|^src/.test(file))).toEqual([]);
  });
});
