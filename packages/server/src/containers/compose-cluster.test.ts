import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMapDocument } from '@quotadb/cluster';
import { environmentVariable, loadConfiguration, peersOf, settingNames, settingOf } from '@quotadb/config';
import { describe, expect, test } from 'vitest';
import { REPOSITORY, readCompose } from './compose.js';
import { runArguments } from './compose-run.js';
import { compileComposeSchema } from './compose-schema.js';
import { environmentOf, parseDockerfile } from './dockerfile.js';

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const compose = readCompose({ QUOTADB_PASSWORD: 'secret' }, 'compose.cluster.yaml');
const image = environmentOf(parseDockerfile(read('Dockerfile')).at(-1) ?? expect.unreachable());
const variables = new Set(settingNames.map((name) => environmentVariable(settingOf(name).flag)));
const map = readMapDocument(read('deploy/cluster.yaml'));
const members = Object.entries(map.groups).flatMap(([group, { members }]) =>
  members.map((member) => ({ group, ...member })),
);
const mountsOf = (name: string) => (compose.services[name].volumes ?? []).map((volume) => volume.split(':'));

describe('compose.cluster.yaml', () => {
  test('is what the schema of the compose specification allows', () => {
    const check = compileComposeSchema();
    expect([check(compose), check.errors]).toEqual([true, null]);
  });

  test('has etcd, its first map, and every member of that map: two of each of two groups', () => {
    expect(members.map(({ group, member }) => `${group} ${member}`)).toEqual(['red a', 'red b', 'blue a', 'blue b']);
    const others = ['etcd', 'map', 'certificates-red', 'certificates-blue'];
    expect(Object.keys(compose.services)).toEqual([...others, ...members.map(({ host }) => host)]);
    expect(mountsOf('map')).toContainEqual(['./deploy/cluster.yaml', compose.services.map.command?.[0], 'ro']);
  });

  test('limits every service, publishes ports on this machine only, each once, and names what is there', () => {
    const published = Object.values(compose.services).flatMap(({ ports }) => ports ?? []);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(published).size).toBe(2 * members.length);
    for (const [name, service] of Object.entries(compose.services)) {
      expect([name, service.deploy.resources.limits]).toEqual([name, { cpus: '2', memory: '2G' }]);
      for (const [source] of mountsOf(name)) {
        const isThere = source.startsWith('./') ? existsSync(join(REPOSITORY, source)) : source in compose.volumes;
        expect([name, source, isThere]).toEqual([name, source, true]);
      }
      for (const other of Object.keys(service.depends_on ?? {})) expect(Object.keys(compose.services)).toContain(other);
      if (service.build === undefined) expect(service.image).toMatch(/:v\d+\.\d+\.\d+$/);
    }
  });

  test.each(members)('starts $host with settings that the server takes, as the map has it', (given) => {
    const { environment = {} } = compose.services[given.host];
    for (const name of Object.keys(environment)) expect(variables).toContain(name);
    const configuration = loadConfiguration({ flags: {}, environment: { ...image, ...environment } });
    const { group, region, member, port: respPort } = given;
    expect(configuration).toMatchObject({ group, region, member, respPort, etcdUrls: ['http://etcd:2379'] });
    expect(configuration).toMatchObject({ cluster: group, replicationPlaintext: false });
    const other = members.find((one) => one.group === group && one.member !== member);
    expect(peersOf(configuration)).toEqual([{ region: `us/${other?.member}`, host: other?.host, port: 7380 }]);
  });

  test('shows a private key to the member that it is of, and to nobody else', () => {
    for (const { host, group, region, member } of members) {
      const name = `${region}.${member}`;
      const { environment } = compose.services[host];
      expect(environment?.QUOTADB_REPL_KEY).toBe(`/certificates/${name}.key`);
      expect(mountsOf(host)).toContainEqual([`certificates-${host}`, '/certificates', 'ro']);
      const maker = `certificates-${group}`;
      expect(compose.services[maker].command).toContain(name);
      expect(compose.services[maker].environment).toEqual({ QUOTADB_CLUSTER: group });
      expect(mountsOf(maker)).toContainEqual([`certificates-${host}`, `/certificates/${name}`]);
      const seeing = Object.keys(compose.services).filter((service) =>
        mountsOf(service).some(([source]) => source === `certificates-${host}`),
      );
      expect(seeing.sort()).toEqual([maker, host].sort());
    }
  });

  test('has nothing that the test in containers could not start', () => {
    for (const [name, service] of Object.entries(compose.services)) expect(runArguments(service), name).toBeTruthy();
    const check = 'etcdctl endpoint health'.split(' ');
    expect(runArguments(compose.services.etcd)).toContain(`--health-cmd=${JSON.stringify(check)}`);
  });

  test('its script is one that a shell takes', () => {
    execFileSync('sh', ['-n', join(REPOSITORY, 'deploy/put-first-map.sh')]);
  });
});
