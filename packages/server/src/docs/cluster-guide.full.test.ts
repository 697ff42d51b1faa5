import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeWithEtcd, describeWithRedis, EtcdServers, freePort } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { QUOTADB_BINARY, runProgram, SpawnedServer } from '../testing/index.js';
import { consoleExamples } from './testing/console-blocks.js';

const CLI = fileURLToPath(new URL('../../../cli/bin/quotadb.js', import.meta.url));
const page = readFileSync(fileURLToPath(new URL('../../../../docs/cluster.md', import.meta.url)), 'utf8');
const [, map = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
const commands = [...page.matchAll(/^npx quotadb ((?:serve|cluster) .*)$/gm)].map(([, line = '']) => line);
const serves = commands.filter((line) => line.includes('--cluster-map'));
const withEtcd = commands.filter((line) => line.includes('--etcd'));

describeWithRedis('the guide to clusters', () => {
  const ports = new Map<string, number>();
  const servers: SpawnedServer[] = [];
  let directory: string;
  /** The ports of the page are free ones here. */
  const local = (text: string) => text.replace(/\b[68]38[12]\b/g, (port) => String(ports.get(port)));

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-cluster-guide-'));
    for (const port of ['6381', '6382', '8381', '8382']) ports.set(port, await freePort());
    await writeFile(join(directory, 'cluster.yaml'), local(map));
    for (const line of serves) {
      const words = local(line).replace('cluster.yaml', join(directory, 'cluster.yaml')).split(/ +/);
      servers.push(new SpawnedServer([...words, '--max-memory', '16mb']));
    }
    for (const server of servers) await server.ready();
    // The first to start tried the second too early and calls it failed until its next PING.
    for (const port of ['6381', '6382']) {
      const words = local(`-p ${port} CLUSTER NODES`).split(' ');
      await vi.waitFor(async () => expect((await runProgram('redis-cli', words)).stdout).not.toMatch(/fail/), 20_000);
    }
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('its servers start, and its commands print what it shows', async () => {
    expect(serves).toHaveLength(2);
    const examples = consoleExamples(page).filter(({ command }) => command.startsWith('redis-cli '));
    expect(examples.length).toBeGreaterThan(3);
    for (const { command, printed } of examples) {
      const isShell = command.startsWith('curl ');
      const { stdout } = isShell
        ? await runProgram('sh', ['-c', local(command)])
        : await runProgram('redis-cli', ['--no-raw', ...local(command).split(' ').slice(1)]);
      expect([command, stdout.trim()]).toEqual([command, printed]);
    }
  });

  test('status shows the cluster as the page has it', async () => {
    const [, words = '', printed = ''] = /^\$ quotadb (status .*)\n…\n([^`]*)/m.exec(page) ?? [];
    expect(words).not.toBe('');
    // Ports of other lengths make other columns.
    const lines = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
    await vi.waitFor(async () => {
      const { code, stdout } = await runProgram(process.execPath, [CLI, ...local(words).split(' ')]);
      expect([code, lines(stdout)]).toEqual([0, expect.arrayContaining(lines(local(printed)))]);
    }, 20_000);
  });

  test('a policy that was defined at one group is taken from at all', async () => {
    for (const port of ['6381', '6382']) {
      const words = local(`-p ${port} QUOTA.TAKE calls {page:home} 1`).split(' ');
      expect((await runProgram('redis-cli', words)).stdout).toMatch(/^1\n99\d\n/);
    }
  });
});

describeWithEtcd('the guide to the map in etcd', () => {
  const servers: SpawnedServer[] = [];
  let directory: string;
  let etcd: EtcdServers;

  afterAll(async () => {
    for (const server of servers) await server.stop();
    await etcd.remove();
    await rm(directory, { recursive: true, force: true });
  });

  test('its servers start, and its commands print what it shows', async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-etcd-guide-'));
    etcd = await EtcdServers.start();
    const ports = new Map<string, number>();
    for (const port of ['6381', '6382', '6383', '8381', '8382']) ports.set(port, await freePort());
    /** Addresses of the page are of this machine here, and back. */
    const local = (text: string) =>
      text
        .replaceAll('http://127.0.0.1:2379', etcd.urls[0])
        .replace(/\b[68]38[123]\b/g, (port) => String(ports.get(port)))
        .replace(/cluster\.yaml|(?<=--data )\w+/, (name) => join(directory, name));
    const asOnThePage = (text: string) =>
      [...ports].reduce((shown, [port, here]) => shown.replaceAll(String(here), port), text).replaceAll(/ +/g, ' ');
    await writeFile(join(directory, 'cluster.yaml'), local(map));
    expect(withEtcd).toHaveLength(3);
    const [init = '', ...starts] = withEtcd.map((line) => local(line).split(/ +/));
    expect(await runProgram(process.execPath, [QUOTADB_BINARY, ...init])).toMatchObject({ code: 0 });
    for (const words of starts) servers.push(new SpawnedServer([...words, '--max-memory', '16mb']));
    for (const server of servers) await server.ready();
    const examples = consoleExamples(page).filter(({ command }) => command.startsWith('quotadb '));
    expect(examples).toHaveLength(4);
    for (const { command, printed } of examples) {
      const words = local(command).split(' ').slice(1);
      const { stdout, stderr } = await runProgram(process.execPath, [QUOTADB_BINARY, ...words]);
      expect([command, asOnThePage(stdout + stderr).trim()]).toEqual([command, printed.replaceAll(/ +/g, ' ')]);
    }
  });
});
