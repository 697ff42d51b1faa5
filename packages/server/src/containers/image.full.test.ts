import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseExposition } from '../testing/exposition.js';
import { eventually, QUOTADB_BINARY, TestClient } from '../testing/index.js';
import { readCompose, REPOSITORY as root } from './compose.js';
import { environmentOf, execForm, only, parseDockerfile } from './dockerfile.js';

/**
 * The programs of the image and the compose file, as processes of this machine: the same commands and environment, with
 * the paths and addresses of containers replaced by a fresh directory and loopback.
 */
const run = promisify(execFile);
const REGIONS = ['us', 'eu', 'ap'] as const;

let directory: string;
let environments: Map<string, Record<string, string>>;
const children = new Map<string, ChildProcess>();
const ports = new Map<string, { resp: number; http: number; repl: number }>();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-image-'));
  await mkdir(join(directory, 'bin'));
  await symlink(QUOTADB_BINARY, join(directory, 'bin/quotadb'));
  for (const region of REGIONS)
    ports.set(region, { resp: await freePort(), http: await freePort(), repl: await freePort() });
  environments = await regionEnvironments();
});
afterAll(async () => {
  for (const child of children.values()) child.kill('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

async function regionEnvironments(): Promise<Map<string, Record<string, string>>> {
  const image = parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8')).at(-1) ?? expect.unreachable();
  const secrets = ['QUOTADB_PASSWORD', 'POSTGRES_PASSWORD'].map((name) => [name, 'secret']);
  const tokens = ['QUOTADB_COUNTS_TOKEN', 'QUOTADB_COUNTS_INTERNAL_TOKEN'].map((name) => [name, name]);
  const { services } = readCompose(Object.fromEntries([...secrets, ...tokens]));
  return new Map(
    REGIONS.map((region) => {
      const { resp, http, repl } = ports.get(region) ?? expect.unreachable();
      const merged: Record<string, string> = { ...environmentOf(image), ...services[region].environment };
      const local = Object.entries(merged).map(([name, value]) => [name, localised(value, region)]);
      return [
        region,
        {
          ...Object.fromEntries(local),
          QUOTADB_DATA: join(directory, region),
          QUOTADB_HOST: '127.0.0.1',
          QUOTADB_REPL_HOST: '127.0.0.1',
          QUOTADB_RESP: String(resp),
          QUOTADB_HTTP: String(http),
          QUOTADB_REPL: String(repl),
          QUOTADB_MAX_MEMORY: '64mb',
          PATH: `${join(directory, 'bin')}:${process.env.PATH}`,
        },
      ];
    }),
  );
}

/** `us:7380` and `/certificates/…`, the region's own volume, as this machine has them. */
function localised(value: string, region: string): string {
  return value
    .replaceAll('/certificates', join(directory, 'certificates', region))
    .replaceAll(/\b(us|eu|ap):7380/g, (_, peer: string) => `127.0.0.1:${ports.get(peer)?.repl}`);
}

test('the certificates, three regions, their health and their end, by the commands of the image', async () => {
  const image = parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8')).at(-1) ?? expect.unreachable();
  const owner = `${process.getuid?.()}:${process.getgid?.()}`;
  const certificates = {
    AUTHORITY: join(directory, 'authority'),
    CERTIFICATES: join(directory, 'certificates'),
    CERTIFICATES_OWNER: owner,
    QUOTADB_CLUSTER: 'compose',
  };
  const make = () =>
    run('sh', [join(root, 'deploy/make-certificates.sh'), ...REGIONS], {
      env: { ...process.env, ...environments.get('us'), ...certificates },
    });
  await make();
  // A second start of the compose file finds them there.
  expect((await make()).stdout).toBe('');
  for (const region of REGIONS) {
    const files = await readdir(join(directory, 'certificates', region));
    expect(files.sort()).toEqual([`${region}.crt`, `${region}.key`, 'ca.crt'].sort());
  }

  const [program, ...words] = [...execForm(only(image, 'ENTRYPOINT')), ...execForm(only(image, 'CMD'))];
  for (const [region, environment] of environments) {
    const child = spawn(join(directory, 'bin', program), words, {
      cwd: directory,
      env: { ...process.env, ...environment },
      stdio: 'ignore',
    });
    children.set(region, child);
  }
  const isHealthy = (region: string) =>
    run('node', [join(root, 'deploy/healthcheck.mjs')], { env: { ...process.env, ...environments.get(region) } });
  // Every question is a process: on a busy machine, asked too often, they keep the regions from starting.
  for (const region of REGIONS) await vi.waitFor(() => isHealthy(region), { timeout: 90_000, interval: 500 });

  const [us, eu] = await Promise.all(['us', 'eu'].map((region) => TestClient.open(ports.get(region)?.resp ?? 0)));
  for (const client of [us, eu]) expect(await client.call('AUTH', 'secret')).toBe('+OK\r\n');
  expect(await us.call('INCRBY', 'shared', 5)).toBe(':5\r\n');
  await eventually(async () => expect(await eu.call('GET', 'shared')).toBe('$1\r\n5\r\n'));
  us.close();
  eu.close();

  const authorization = `Basic ${Buffer.from('default:secret').toString('base64')}`;
  // What came may have come by another way: every link is waited for.
  await eventually(async () => {
    const metrics = await fetch(`http://127.0.0.1:${ports.get('us')?.http}/metrics`, { headers: { authorization } });
    const connected = parseExposition(await metrics.text()).get('quotadb_peer_connected')?.samples ?? [];
    expect(connected.map(({ labels, value }) => [labels.peer, value]).sort()).toEqual([
      ['ap', 1],
      ['eu', 1],
    ]);
  });
  const servers = REGIONS.map((region) => `${region}=127.0.0.1:${ports.get(region)?.resp}`);
  const status = await run(join(directory, 'bin/quotadb'), ['status', '--password', 'secret', ...servers]);
  expect(status.stdout).toMatch(/^us +up +us /m);
  expect(status.stdout).toMatch(/^us → eu: connected, round trip /m);

  for (const child of children.values()) {
    const closed = once(child, 'close');
    child.kill(only(image, 'STOPSIGNAL') as NodeJS.Signals);
    expect((await closed)[0]).toBe(0);
  }
  await expect(isHealthy('us')).rejects.toThrow();
}, 180_000);
