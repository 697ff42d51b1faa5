import { execFileSync } from 'node:child_process';
import { appendFile, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TestClient } from '../testing/index.js';
import { provideImages } from './base-images.js';
import { type Compose, REPOSITORY, readCompose } from './compose.js';
import { runArguments } from './compose-run.js';
import { Podman } from './podman.js';

/**
 * The image as it is built and the services of compose.yaml and compose.cluster.yaml as they are started, in containers
 * (deploy/container-test). Grafana is left out: its image has no stand-in.
 */
const REGIONS = ['us', 'eu', 'ap'] as const;
const SECRETS: Readonly<Record<string, string>> = {
  QUOTADB_PASSWORD: 'secret',
  POSTGRES_PASSWORD: 'also-secret',
  QUOTADB_COUNTS_TOKEN: 'counts-token',
  QUOTADB_COUNTS_INTERNAL_TOKEN: 'internal-token',
};
const MEMBERS = ['red-a', 'red-b', 'blue-a', 'blue-b'] as const;
/** Of both groups: their slots are 3300, 7365, 15495 and 12182. */
const CLUSTER_KEYS = ['b', 'c', 'a', 'foo'];
const BASE_IMAGES = ['debian:bookworm-slim', 'node:24-bookworm-slim'];

/** Every question starts a process in a container, on a machine that may be busy. */
const eventually = (expectation: () => Promise<void>) => vi.waitFor(expectation, { timeout: 180_000, interval: 500 });

/** Images are made, networks cut and base systems unpacked as root alone; without podman or root this is left out. */
const hasEngine = (() => {
  try {
    execFileSync('podman', ['--version'], { stdio: 'ignore' });
    if (process.getuid?.() === 0) return true;
  } catch {}
  process.stderr.write('no podman, or not root: the tests in containers are skipped\n');
  return false;
})();

describe.skipIf(!hasEngine)('in containers', () => {
  let podman: Podman;
  let compose: Compose;
  let groups: Compose;

  beforeAll(async () => {
    podman = await Podman.open();
    compose = readCompose(SECRETS);
    groups = readCompose(SECRETS, 'compose.cluster.yaml');
    const others = [
      compose.services.postgres,
      compose.services.prometheus,
      compose.services.redis,
      groups.services.etcd,
    ];
    await provideImages(podman, [...BASE_IMAGES, ...others.map(({ image }) => image)]);
    await podman.build('quotadb', REPOSITORY);
    await podman.run('network', 'create', podman.name);
    for (const [name, { environment }] of Object.entries(compose.secrets))
      await podman.createSecret(name, SECRETS[environment]);
  }, 1_800_000);
  afterAll(() => podman?.close(), 300_000);

  const start = (service: string) =>
    podman.start(service, runArguments(compose.services[service] ?? groups.services[service]));
  const healthy = (service: string) =>
    eventually(async () => expect([service, await podman.isHealthy(service)]).toEqual([service, true]));
  /** A command to a region from inside its container. */
  const command = async (region: string, ...words: readonly string[]) =>
    (await podman.execute(region, 'quotadb', 'cli', ...words)).trim();
  const totals = (key: string) => Promise.all(REGIONS.map((region) => command(region, 'GET', key)));
  const agreeOn = (key: string, total: number) =>
    eventually(async () => expect(await totals(key)).toEqual(REGIONS.map(() => `${total}`)));

  test('the image has the program and what it needs, and neither npm nor what is installed apart', async () => {
    const inImage = (...words: readonly string[]) => podman.runOnce('quotadb', ...words);
    expect(await inImage('id', '-u')).toBe('10001');
    expect(await inImage('quotadb', '--version')).toMatch(/\d+\.\d+\.\d+/);
    const packages = (await inImage('ls', '/opt/quotadb/packages')).split('\n');
    expect(packages).toContain('server');
    for (const name of ['bench', 'simulator', 'windows']) expect(packages).not.toContain(name);
    expect(await inImage('sh', '-c', 'command -v npm || true')).toBe('');
    const megabytes = Number(await podman.run('image', 'inspect', '--format={{.Size}}', 'quotadb')) / 1e6;
    process.stderr.write(`the image has ${megabytes.toFixed(0)} MB\n`);
  });

  test('an edit of a source file installs nothing again', async () => {
    const context = join(podman.directory, 'edited');
    const files = execFileSync(
      'git',
      [
        'ls-files',
        '-z',
        '--cached',
        '--others',
        '--exclude-standard',
        'packages',
        'deploy',
        'scripts',
        '*.json',
        'Dockerfile',
        '.dockerignore',
      ],
      {
        cwd: REPOSITORY,
        encoding: 'utf8',
      },
    );
    for (const file of files.split('\0').filter(Boolean)) await cp(join(REPOSITORY, file), join(context, file));
    await appendFile(join(context, 'packages/config/src/version.ts'), '// An edit.\n');
    const steps = (await podman.build('edited', context)).split(/^(?=\[\d+\/\d+\] STEP)/m);
    const installs = steps.filter((step) => step.includes('RUN npm ci'));
    expect(installs).toHaveLength(2);
    for (const step of installs) expect(step).toContain('Using cache');
    expect(steps.find((step) => step.includes('RUN npm run build'))).not.toContain('Using cache');
    await rm(context, { recursive: true });
  }, 600_000);

  test('the services of compose.yaml start, and become healthy', async () => {
    await start('certificates');
    expect(await podman.run('wait', podman.containerOf('certificates'))).toBe('0');
    await start('postgres');
    await healthy('postgres');
    for (const region of REGIONS) await start(region);
    for (const region of REGIONS) await healthy(region);
    await start('prometheus');
  }, 300_000);

  test('a region sees its own private key and no other, and cannot write but to its data', async () => {
    for (const region of REGIONS) {
      expect((await podman.execute(region, 'ls', '/certificates')).split('\n').sort()).toEqual(
        ['ca.crt', `${region}.crt`, `${region}.key`].sort(),
      );
      expect((await podman.attempt('exec', podman.containerOf(region), 'ls', '/authority')).code).not.toBe(0);
      expect((await podman.attempt('exec', podman.containerOf(region), 'touch', '/opt/quotadb/x')).code).not.toBe(0);
    }
  });

  test('a region shows the others its certificate, signed by the authority of the cluster', async () => {
    const connect = `const ca = require('node:fs').readFileSync('/certificates/ca.crt');
      require('node:tls').connect({ host: 'eu', port: 7380, ca, checkServerIdentity() {} }, function () {
        console.log(this.authorized, this.getPeerCertificate().subjectaltname);
        process.exit();
      })`;
    expect(await podman.execute('us', 'node', '-e', connect)).toMatch(/^true URI:.*compose.*eu/);
  });

  test('counts over RESP, from outside through the published ports, are the same in every region', async () => {
    for (const [index, region] of REGIONS.entries()) {
      const client = await TestClient.open(await podman.portOf(region, 6380));
      expect(await client.call('AUTH', SECRETS.QUOTADB_PASSWORD)).toBe('+OK\r\n');
      expect(await client.call('INCRBY', `own:${region}`, 1)).toBe(':1\r\n');
      await client.call('INCRBY', 'shared', 10 ** index);
      client.close();
    }
    await agreeOn('shared', 111);
  });

  test('the counts API is open to its tokens, closed to others, and counts in PostgreSQL', async () => {
    for (const region of REGIONS) {
      const api = `http://127.0.0.1:${await podman.portOf(region, 8380)}/api/v1`;
      const post = (path: string, token: string, body?: object) =>
        fetch(`${api}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          ...(body && { body: JSON.stringify(body) }),
        });
      expect((await post('/counts/visits/increase', 'wrong')).status).toBe(401);
      const created = await post('/internal/counts', SECRETS.QUOTADB_COUNTS_INTERNAL_TOKEN, { itemId: 'visits' });
      expect(created.status).toBe(region === 'us' ? 201 : 409);
      expect((await post('/counts/visits/increase', SECRETS.QUOTADB_COUNTS_TOKEN, { amount: 7 })).status).toBe(200);
    }
    expect(await sql("SELECT current_value FROM count_values WHERE item_id = 'visits'")).toBe(`${7 * REGIONS.length}`);
  });

  /** A query to the PostgreSQL of the compose file, by its own client. */
  function sql(query: string): Promise<string> {
    const login = `postgresql://quotadb:${SECRETS.POSTGRES_PASSWORD}@127.0.0.1/counts`;
    return podman.execute('postgres', 'psql', login, '--tuples-only', '--no-align', '--command', query);
  }

  test('Prometheus reads the metrics of every region', async () => {
    const query = `http://127.0.0.1:${await podman.portOf('prometheus', 9090)}/api/v1/query?query=up`;
    await eventually(async () => {
      const { data } = (await (await fetch(query)).json()) as {
        data: { result: { metric: { region: string }; value: [number, string] }[] };
      };
      const up = data.result.map(({ metric, value }) => `${metric.region} ${value[1]}`);
      expect(up.sort()).toEqual(['ap 1', 'eu 1', 'us 1']);
    });
  });

  test('a region that is cut from the network goes on counting, and all totals are right when it is back', async () => {
    await podman.run('network', 'disconnect', podman.name, podman.containerOf('eu'));
    await command('eu', 'INCRBY', 'cut', '5');
    await command('us', 'INCRBY', 'cut', '30');
    await eventually(async () => expect(await command('ap', 'GET', 'cut')).toBe('30'));
    expect(await command('eu', 'GET', 'cut')).toBe('5');
    // It may come back with another address: the others know its name.
    await podman.run('network', 'connect', '--alias=eu', podman.name, podman.containerOf('eu'));
    await agreeOn('cut', 35);
    await healthy('eu');
  });

  test('a container that is killed comes back with every increment that it answered', async () => {
    const client = await TestClient.open(await podman.portOf('us', 6380));
    await client.call('AUTH', SECRETS.QUOTADB_PASSWORD);
    const acknowledged = 2000;
    for (let count = 0; count < acknowledged; count++) await client.call('INCR', 'killed');
    await podman.run('kill', '--signal=KILL', podman.containerOf('us'));
    client.close();
    await command('ap', 'INCRBY', 'killed', '100000');
    await podman.run('start', podman.containerOf('us'));
    await healthy('us');
    await agreeOn('killed', acknowledged + 100_000);
  });

  test('the benchmark measures a region and a Redis in containers of the same size', async () => {
    await start('redis');
    const { bench } = compose.services;
    await podman.start('bench', runArguments({ ...bench, environment: { ...bench.environment, REQUESTS: '100000' } }));
    const code = await podman.run('wait', podman.containerOf('bench'));
    const log = await podman.logOf('bench');
    expect({ code, log }).toMatchObject({ code: '0' });
    expect(log.match(/requests per second/g)).toHaveLength(12);
    process.stderr.write(log);
  }, 600_000);

  test('a container that is stopped ends by itself, with 0', async () => {
    for (const region of REGIONS) {
      await podman.run('stop', '--time=30', podman.containerOf(region));
      const code = await podman.run('inspect', '--format={{.State.ExitCode}}', podman.containerOf(region));
      expect({ region, code, log: await podman.logOf(region) }).toMatchObject({ code: '0' });
    }
  });

  test('the services of compose.cluster.yaml start: two groups of two members take every command at any of them', async () => {
    for (const group of ['red', 'blue']) {
      await start(`certificates-${group}`);
      expect(await podman.run('wait', podman.containerOf(`certificates-${group}`))).toBe('0');
    }
    await start('etcd');
    await healthy('etcd');
    await start('map');
    expect(await podman.run('wait', podman.containerOf('map'))).toBe('0');
    for (const member of MEMBERS) await start(member);
    for (const member of MEMBERS) await healthy(member);
    for (const [index, member] of MEMBERS.entries())
      for (const key of CLUSTER_KEYS) await command(member, 'INCRBY', key, `${10 ** index}`);
    await agreeInCluster(1111);
    expect(await podman.execute('red-a', 'quotadb', 'cluster', 'status')).toMatch(/^the map has the revision 1\n/);
  }, 300_000);

  test('a member of a group is killed, and slots move: every total is right, in whatever group it is', async () => {
    await podman.run('kill', '--signal=KILL', podman.containerOf('red-a'));
    for (const member of MEMBERS.slice(1))
      for (const key of CLUSTER_KEYS) await command(member, 'INCRBY', key, '10000');
    await podman.run('start', podman.containerOf('red-a'));
    await healthy('red-a');
    await agreeInCluster(31_111);
    await podman.execute('blue-b', 'quotadb', 'cluster', 'move', '0-8191', '--to', 'blue', '--yes');
    await agreeInCluster(31_111);
    for (const member of ['red-a', 'red-b'])
      await eventually(async () => expect([member, await command(member, 'DBSIZE')]).toEqual([member, '0']));
    for (const member of MEMBERS) {
      await podman.run('stop', '--time=30', podman.containerOf(member));
      const code = await podman.run('inspect', '--format={{.State.ExitCode}}', podman.containerOf(member));
      expect({ member, code, log: await podman.logOf(member) }).toMatchObject({ code: '0' });
    }
  }, 300_000);

  const agreeInCluster = (total: number) =>
    eventually(async () => {
      for (const member of MEMBERS)
        for (const key of CLUSTER_KEYS)
          expect([member, key, await command(member, 'GET', key)]).toEqual([member, key, `${total}`]);
    });
});
