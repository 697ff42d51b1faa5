import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EnvoyClient } from '@quotadb/envoy/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { QUOTADB_BINARY, type ReadyLine, SpawnedServer } from '../testing/index.js';
import { consoleExamples, withoutChance } from './testing/console-blocks.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/envoy.md'), 'utf8');
const areThere = ['script', 'curl', 'bash'].every(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
);
const [envoy, limits] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
const [, command = ''] = /^npx quotadb (serve .*--rls.*)$/m.exec(page) ?? [];

describe.skipIf(!areThere && process.env.CI !== 'true')("the guide to Envoy's rate limit service", () => {
  let directory: string;
  let server: SpawnedServer;
  let ready: ReadyLine;
  let client: EnvoyClient;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-envoy-guide-'));
    await mkdir(join(directory, 'limits'));
    await writeFile(join(directory, 'limits', 'shop.yaml'), limits);
    const words = command.replace('--rls 8081', '--rls 0').split(' ');
    const local = words.map((word) => (['data', 'limits'].includes(word) ? join(directory, word) : word));
    server = new SpawnedServer([...local, '--resp', '0', '--http', '0', '--repl', '-1', '--transport', 'net']);
    ready = await server.ready();
    client = new EnvoyClient(ready.rls as number);
  });
  afterAll(async () => {
    client?.close();
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('the commands print what it shows', async () => {
    const examples = consoleExamples(page);
    expect(examples).toHaveLength(2);
    for (const example of examples) {
      const local = example.command
        .replaceAll('localhost:8380', `127.0.0.1:${ready.http}`)
        .replaceAll('npx quotadb cli', `'${process.execPath}' '${QUOTADB_BINARY}' cli --resp ${ready.resp}`);
      const { stdout } = await run('script', ['-qec', local, '/dev/null'], {
        env: { ...process.env, SHELL: '/bin/bash' },
      });
      expect(withoutChance(stdout), example.command).toBe(withoutChance(example.printed));
    }
  });

  test.each([
    ['remote_address', 100],
    ['api_key', 1000],
    ['login', 5],
  ])('the limit of %s holds', async (key, limit) => {
    const { overallCode, statuses } = await client.ask('shop', [[key, 'x']]);
    expect(overallCode).toBe('OK');
    expect(statuses[0]).toMatchObject({ currentLimit: { requestsPerUnit: limit }, limitRemaining: limit - 1 });
  });

  test("the part of Envoy's configuration names the domain and the port of the command", () => {
    const { http_filters, clusters } = parse(envoy);
    expect(http_filters[0].typed_config.domain).toBe(parse(limits).domain);
    const { endpoint } = clusters[0].load_assignment.endpoints[0].lb_endpoints[0];
    expect(command).toContain(`--rls ${endpoint.address.socket_address.port_value}`);
    expect(http_filters[0].typed_config.rate_limit_service.grpc_service.envoy_grpc.cluster_name).toBe(clusters[0].name);
  });
});
