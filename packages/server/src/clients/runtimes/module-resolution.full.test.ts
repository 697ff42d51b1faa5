import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PackedPackages, startTestServer, type TestServer } from '../../testing/index.js';

/**
 * Small projects with the packed client, compiled under every `moduleResolution` and run. TypeScript 7 is the
 * workspace's; projects with node10, which it no longer has, are on TypeScript 5, as the client's development is.
 */
const run = promisify(execFile);
const clientFolder = fileURLToPath(new URL('../../../../client/', import.meta.url));
const compilers = {
  5: join(clientFolder, 'node_modules/typescript/bin/tsc'),
  7: join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc'),
};
const typesOfNode = dirname(createRequire(import.meta.url).resolve('@types/node/package.json'));

interface Project {
  readonly typescript: 5 | 7;
  readonly module: string;
  readonly resolution: string;
  /** `cts` and `mts` name the format of a file in node16 and nodenext. */
  readonly extension: 'ts' | 'cts' | 'mts';
}

const projects: readonly Project[] = [
  { typescript: 5, module: 'commonjs', resolution: 'node10', extension: 'ts' },
  { typescript: 5, module: 'node16', resolution: 'node16', extension: 'cts' },
  { typescript: 5, module: 'node16', resolution: 'node16', extension: 'mts' },
  { typescript: 5, module: 'nodenext', resolution: 'nodenext', extension: 'cts' },
  { typescript: 5, module: 'esnext', resolution: 'bundler', extension: 'mts' },
  { typescript: 7, module: 'node16', resolution: 'node16', extension: 'cts' },
  { typescript: 7, module: 'nodenext', resolution: 'nodenext', extension: 'cts' },
  { typescript: 7, module: 'nodenext', resolution: 'nodenext', extension: 'mts' },
  { typescript: 7, module: 'esnext', resolution: 'bundler', extension: 'mts' },
];

/** Where types were not found, everything would be `any`, and the lines that must not compile would. */
const PROGRAM = `
import { expressRateLimit, Quota, QuotadbClient, RateLimiter, ReplyError, type LimitResult } from '@quotadb/client';
import { QuotadbHttpClient, RateLimiter as LimiterOverHttp } from '@quotadb/client/http';
import { encodeCommand, ReplyReader, valueBuilder, type Reply } from '@quotadb/client/resp';

export async function main(): Promise<void> {
  const client = QuotadbClient.open({ port: Number(process.env.RESP_PORT) });
  const counted: number = await client.increment(process.env.KEY ?? '', 3);
  // @ts-expect-error a key is no number
  const wrong = () => client.increment(5);
  // @ts-expect-error a result has no such field
  const missing = (result: LimitResult) => result.allowed;
  // @ts-expect-error the other entry is typed, too
  const unknownOption = () => new QuotadbHttpClient({ address: 'x' });
  const refused = await client.send(['NOSUCH']).catch((error: unknown) => error);
  const replies: Reply[] = [];
  const reader = new ReplyReader(valueBuilder, (reply) => replies.push(reply));
  reader.receive(Buffer.from(String(encodeCommand(['PING', 7]))));
  expressRateLimit({
    limiter: new RateLimiter({ client, limit: 1, windowMs: 1_000, whenAway: 'open' }),
    key: (request) => request.get('x-user'),
  });
  console.log(
    counted,
    refused instanceof ReplyError && refused.command,
    JSON.stringify(replies),
    [wrong, missing, unknownOption, Quota, LimiterOverHttp].every((one) => typeof one === 'function'),
  );
  await client.close();
}
void main();
`;
/** TypeScript 5 takes seconds on a quiet machine, and a minute on a busy one. */
const COMPILE_TIMEOUT_MS = 180_000;
/** Whether the size that a README states is about the true one. */
const near = (bytes: number) => (stated: number) => Math.abs(stated - bytes) < bytes * 0.15;
const PRINTED = '3 NOSUCH [["PING","7"]] true';

let server: TestServer;
let packed: PackedPackages;
beforeAll(async () => {
  [server, packed] = await Promise.all([startTestServer(), PackedPackages.make(['client'])]);
});
afterAll(async () => {
  await Promise.all([server.stop(), packed.remove()]);
});

/** A directory with the packed client, a main file and a tsconfig.json; nothing is looked up in the workspace. */
async function makeProject(name: string, main: string, text: string, compilerOptions: object): Promise<string> {
  const project = join(packed.directory, name.replaceAll(/\W/g, '-'));
  await mkdir(project, { recursive: true });
  await packed.install('@quotadb/client', project);
  await writeFile(join(project, main), text);
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { target: 'es2022', strict: true, skipLibCheck: false, outDir: 'out', ...compilerOptions },
      files: [main],
    }),
  );
  return project;
}

async function compile(typescript: 5 | 7, project: string): Promise<void> {
  const { stdout } = await run(process.execPath, [compilers[typescript], '-p', project]).catch((error) => error);
  expect(stdout).toBe('');
}

describe.each(projects)('TypeScript $typescript, $module, $resolution, .$extension', (project) => {
  test('the packed client compiles with its types, and runs', { timeout: COMPILE_TIMEOUT_MS }, async () => {
    const { typescript, module, resolution, extension } = project;
    const name = Object.values(project).join(' ');
    const options = { module, moduleResolution: resolution, types: ['node'] };
    const directory = await makeProject(name, `main.${extension}`, PROGRAM, options);
    await mkdir(join(directory, 'node_modules/@types'));
    await symlink(typesOfNode, join(directory, 'node_modules/@types/node'));
    await compile(typescript, directory);
    const env = { ...process.env, RESP_PORT: String(server.port), KEY: name, NODE_PATH: '' };
    const main = join(directory, 'out', `main.${extension.replace('ts', 'js')}`);
    const { stdout, stderr } = await run(process.execPath, [main], { env });
    expect([stdout.trim(), stderr]).toEqual([PRINTED, '']);
  });
});

test('the entry over HTTP compiles for a browser, without the types of Node, and its bundle has no part of Node', {
  timeout: COMPILE_TIMEOUT_MS,
}, async () => {
  const text = `
    import { Quota, QuotadbHttpClient, RateLimiter } from '@quotadb/client/http';
    const client = new QuotadbHttpClient({ url: location.origin });
    document.title = String([Quota, RateLimiter].length) + typeof client.quotaTake;
  `;
  const options = { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [], noEmit: true };
  const directory = await makeProject('browser', 'main.ts', text, options);
  await compile(5, directory);
  await compile(7, directory);
  await writeFile(join(directory, 'all.ts'), "export * from '@quotadb/client/http';");
  const built = await build({
    root: directory,
    configFile: false,
    logLevel: 'error',
    build: { lib: { entry: 'all.ts', formats: ['es'] }, write: false },
  });
  const [{ output }] = [built].flat() as { output: { code: string; imports: string[] }[] }[];
  expect(output.flatMap(({ imports }) => imports)).toEqual([]);
  const { code } = output[0]!;
  expect(code).not.toMatch(/node:|\bprocess\.|\bBuffer\.|__vite-browser-external/);
  const readme = await readFile(join(clientFolder, 'README.md'), 'utf8');
  const [, bundledKb = 'none', gzippedKb = 'none'] =
    /(\d+)\s+kB\s+bundled,\s+(\d+)\s+kB\s+compressed/.exec(readme) ?? [];
  expect(Number(bundledKb) * 1_000).toSatisfy(near(code.length));
  expect(Number(gzippedKb) * 1_000).toSatisfy(near(gzipSync(code).length));
});

test('require and import of one program get the same errors and classes each from their own format', async () => {
  const directory = await makeProject('formats', 'main.ts', '', {});
  const program = `
    const required = require('@quotadb/client');
    import('@quotadb/client').then((imported) => {
      const names = Object.keys(imported).sort();
      console.log(JSON.stringify(names) === JSON.stringify(Object.keys(required).sort()), names.length > 15);
      console.log(require.resolve('@quotadb/client').includes('commonjs'), required.QuotadbClient === imported.QuotadbClient);
    });
  `;
  await writeFile(join(directory, 'main.cjs'), program);
  const { stdout } = await run(process.execPath, [join(directory, 'main.cjs')]);
  expect(stdout).toBe('true true\ntrue false\n');
});
