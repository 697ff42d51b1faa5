import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PackedPackages, startTestServer, type TestServer } from '../../testing/index.js';

const source = fileURLToPath(new URL('../../../../', import.meta.url));

/** Packages that work alone, and a program that uses each. */
const alone = [
  {
    name: '@quotadb/client',
    program: `
      import { Quota, QuotadbClient, RateLimiter } from '@quotadb/client';
      const client = QuotadbClient.open({ port: Number(process.env.RESP_PORT) });
      console.log(await client.increment('packed', 3), typeof Quota, typeof RateLimiter);
      await client[Symbol.asyncDispose]();
    `,
    says: '3 function function',
  },
  {
    name: '@quotadb/windows',
    program: `
      import { MemoryWindowStore, QuotadbWindowStore, TimeWindowCounter } from '@quotadb/windows';
      const counter = new TimeWindowCounter({ store: new MemoryWindowStore(), durationMs: 60_000 });
      console.log(String((await counter.increment('key', 3)).count), typeof QuotadbWindowStore);
    `,
    says: '3 function',
  },
];

/** How far the sizes that a README states may be from the true ones. */
const SIZE_TOLERANCE = 0.15;

let server: TestServer;
let packed: PackedPackages;
beforeAll(async () => {
  [server, packed] = await Promise.all([startTestServer(), PackedPackages.make(readdirSync(source))]);
});
afterAll(async () => {
  await Promise.all([server.stop(), packed.remove()]);
});

test('every archive has a license, a README, the code that its package.json names, and no tests', () => {
  expect(packed.packages.length).toBe(readdirSync(source).length);
  for (const { name, files } of packed.packages) {
    const paths = files.map(({ path }) => path);
    expect(paths, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(paths.filter((path) => /\.test\.|\.map$|tsbuildinfo|^src|\.py$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.endsWith('.js')).length, name).toBeGreaterThan(0);
  }
});

test('the README of the client states the size of its archive', () => {
  const { size, unpackedSize } = packed.packages.find(({ name }) => name === '@quotadb/client')!;
  const text = readFileSync(join(source, 'client/README.md'), 'utf8');
  const [, packedKb = 'none', unpackedKb = 'none'] = /(\d+) kB to download, (\d+) kB on disk/.exec(text) ?? [];
  expect(Math.abs(Number(packedKb) * 1_000 - size)).toBeLessThan(size * SIZE_TOLERANCE);
  expect(Math.abs(Number(unpackedKb) * 1_000 - unpackedSize)).toBeLessThan(unpackedSize * SIZE_TOLERANCE);
});

test.each(alone)('$name works alone: it depends on nothing', async ({ name, program, says }) => {
  const project = join(packed.directory, name);
  await mkdir(project, { recursive: true });
  const installed = await packed.install(name, project);
  const { dependencies = {} } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  expect(dependencies).toEqual({});
  const { files } = packed.packages.find((one) => one.name === name)!;
  expect(files.filter(({ path }) => path.includes('testing'))).toEqual([]);
  const main = join(project, 'main.mjs');
  await writeFile(main, program);
  const environment = { ...process.env, RESP_PORT: String(server.port), NODE_PATH: '' };
  const { stdout } = await promisify(execFile)(process.execPath, [main], { env: environment });
  expect(stdout.trim()).toBe(says);
});
