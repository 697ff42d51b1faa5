import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  countsAlone as countsAloneSettings,
  environmentVariable,
  loadConfiguration,
  peersOf,
  settingNames,
  settingOf,
} from '@quotadb/config';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { readCompose, type Service } from './compose.js';
import { runArguments } from './compose-run.js';
import { compileComposeSchema } from './compose-schema.js';
import { all, environmentOf, execForm, only, parseDockerfile } from './dockerfile.js';

const root = new URL('../../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const exists = (path: string) => existsSync(new URL(path, root));

const stages = parseDockerfile(read('Dockerfile'));
const run = stages.at(-1) ?? expect.unreachable();
const stageOf = (name: string) => stages.find((stage) => stage.name === name) ?? expect.unreachable();
const countsAlone = stageOf('count-processing-service');
const variables = new Set([...settingNames.map((name) => environmentVariable(settingOf(name).flag)), 'QUOTADB_CONFIG']);

/** Passwords that the operator has to set before the start. */
const given: Readonly<Record<string, string>> = {
  QUOTADB_PASSWORD: 'secret',
  POSTGRES_PASSWORD: 'also secret',
  QUOTADB_COUNTS_TOKEN: 'a token',
  QUOTADB_COUNTS_INTERNAL_TOKEN: 'another token',
};
const compose = readCompose(given);

describe('the Dockerfile', () => {
  test('is what a builder takes, without warnings', () => {
    expect(validate(read('Dockerfile'))).toEqual([]);
    expect(validate('FROM node:24\nRUM npm ci\n').map(({ message }) => message)).toEqual(['Unknown instruction: RUM']);
  });

  test('builds in stages that are not shipped, all from images with a fixed tag, and needs nothing else', () => {
    expect(stages.map(({ name }) => name)).toEqual([
      'manifests',
      'modules',
      'build',
      'base',
      'count-processing-service',
      'run',
    ]);
    // A syntax line would have the builder fetch another builder: an offline build could not.
    expect(read('Dockerfile')).not.toMatch(/^#\s*syntax\s*=/im);
    for (const { image } of stages) expect(image).toMatch(/^[a-z]+:\d*[a-z0-9.-]+$/);
  });

  test.each([
    [run, 'serve'],
    [countsAlone, 'counts'],
  ])('does not run as root, says when it is healthy, and ends by a signal that the server knows', (stage, command) => {
    expect(only(stage, 'USER')).toMatch(/^[1-9]\d+:[1-9]\d+$/);
    expect(execForm(only(stage, 'HEALTHCHECK'))).toEqual(['node', '/opt/quotadb/healthcheck.mjs']);
    expect(only(stage, 'STOPSIGNAL')).toBe('SIGTERM');
    expect(execForm(only(stage, 'ENTRYPOINT'))).toEqual(['quotadb']);
    expect(execForm(only(stage, 'CMD'))).toEqual([command]);
    const order = stage.instructions.map(({ name }) => name);
    expect(order.lastIndexOf('RUN')).toBeLessThan(order.indexOf('USER'));
  });

  test.each(['modules', 'build'])(
    'installs in %s before it copies what is edited: an edit installs nothing',
    (name) => {
      const steps = stageOf(name).instructions.map((step) => `${step.name} ${step.rest}`);
      const install = steps.findIndex((step) => step.startsWith('RUN npm ci'));
      expect(steps.slice(0, install).filter((step) => step.startsWith('COPY'))).toEqual([
        'COPY --from=manifests /source ./',
      ]);
      expect(steps.slice(install).filter((step) => step === 'COPY packages ./packages')).toHaveLength(
        name === 'build' ? 1 : 0,
      );
    },
  );

  test('ships the packages that the program needs, and no other', () => {
    const needed = new Set<string>();
    const add = (directory: string) => {
      if (needed.has(directory)) return;
      needed.add(directory);
      const manifest = JSON.parse(read(`packages/${directory}/package.json`)) as { dependencies?: object };
      for (const name of Object.keys(manifest.dependencies ?? {}))
        if (name.startsWith('@quotadb/')) add(name.slice('@quotadb/'.length));
    };
    add('cli');
    const others = readdirSync(new URL('packages', root)).filter((directory) => !needed.has(directory));
    const removed = (name: string, words: RegExp) =>
      words
        .exec(all(stageOf(name), 'RUN').join('\n'))?.[1]
        .replaceAll('packages/', '')
        .split(' ');
    expect(removed('modules', /for name in ([^;]+);/)).toEqual(others);
    expect(removed('build', /rm -r (.+?)\s+&&/)).toEqual(others);
  });

  test('copies what is there and what .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const stage of stages) {
      for (const rest of all(stage, 'COPY').filter((copy) => !copy.startsWith('--from'))) {
        for (const path of rest.split(/\s+/).slice(0, -1))
          expect([path, exists(path), allowed.includes(path)]).toEqual([path, true, true]);
      }
      expect(all(stage, 'ADD')).toEqual([]);
    }
  });

  test('takes from the stage before only what that stage has', () => {
    const sources = all(run, 'COPY').filter((copy) => copy.startsWith('--from'));
    expect(sources).toEqual([
      '--from=modules /usr/local/bin/node /usr/local/bin/node',
      '--from=modules /source /opt/quotadb',
      '--from=build /source/packages /opt/quotadb/packages',
    ]);
  });

  test('sets nothing that the server does not know, and no address without credentials', () => {
    const environment = environmentOf(run);
    for (const name of Object.keys(environment).filter((key) => key.startsWith('QUOTADB_')))
      expect(variables).toContain(name);
    expect(() => loadConfiguration({ flags: {}, environment })).toThrow(/can be reached from other machines/);
    expect(loadConfiguration({ flags: {}, environment: { ...environment, QUOTADB_PASSWORD: 'x' } })).toMatchObject({
      host: '0.0.0.0',
      dataDirectory: '/data',
    });
  });
});

test('the image of the counts API takes its tokens for credentials, and keeps nothing itself', () => {
  const environment = environmentOf(countsAlone);
  const load = (more: Readonly<Record<string, string>>) =>
    loadConfiguration({ flags: {}, environment: { ...environment, ...more } }, countsAloneSettings);
  expect(() => load({ QUOTADB_PASSWORD: 'x' })).toThrow(/--counts-token/);
  expect(load({ QUOTADB_COUNTS_TOKEN: 'x' })).toMatchObject({ host: '0.0.0.0', dataDirectory: '' });
  expect(all(countsAlone, 'VOLUME')).toEqual([]);
  expect(only(countsAlone, 'EXPOSE')).toBe('8380');
});

describe('compose.yaml', () => {
  test('is what the schema of the compose specification allows', () => {
    const check = compileComposeSchema();
    expect([check(compose), check.errors]).toEqual([true, null]);
    expect(check({ services: { a: { imagine: 'x' } } })).toBe(false);
  });

  test('has three regions that know each other, PostgreSQL, Prometheus, Grafana, and Redis for benchmarks', () => {
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(['us', 'eu', 'ap', 'postgres', 'prometheus', 'grafana', 'redis', 'bench']),
    );
    for (const [name, { profiles }] of Object.entries(compose.services)) {
      expect([name, profiles]).toEqual([name, ['redis', 'bench'].includes(name) ? ['benchmark'] : undefined]);
    }
  });

  test('limits every service to two processors and 2 GB', () => {
    for (const [name, { deploy }] of Object.entries(compose.services)) {
      expect([name, deploy.resources.limits]).toEqual([name, { cpus: '2', memory: '2G' }]);
    }
  });

  test('publishes ports on this machine only', () => {
    for (const port of Object.values(compose.services).flatMap(({ ports }) => ports ?? []))
      expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('names volumes, secrets, services, files and images that are there', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const [source] = volume.split(':');
        const isThere = source.startsWith('./') ? exists(source.slice(2)) : source in compose.volumes;
        expect([name, source, isThere]).toEqual([name, source, true]);
      }
      for (const secret of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret);
      const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {});
      for (const other of needed) expect(Object.keys(compose.services)).toContain(other);
      // A fixed version as tag, and no host in front of the name.
      if (service.build === undefined) expect(service.image).toMatch(/^[a-z]+(?:\/[a-z]+)?:v?\d[\w.-]*$/);
    }
  });

  test.each(['us', 'eu', 'ap'])(
    'starts %s with settings that the server takes, replicating over mutual TLS',
    (region) => {
      const service = compose.services[region];
      const environment = { ...environmentOf(run), ...service.environment };
      for (const name of Object.keys(service.environment ?? {})) expect(variables).toContain(name);
      const configuration = loadConfiguration({ flags: {}, environment });
      expect(configuration).toMatchObject({
        region,
        cluster: 'compose',
        replicationPort: 7380,
        replicationPlaintext: false,
      });
      const others = ['us', 'eu', 'ap'].filter((other) => other !== region);
      expect(peersOf(configuration).map((peer) => peer.region)).toEqual(others);
      expect(configuration.replicationCertificate).toBe(`/certificates/${region}.crt`);
      expect(configuration.countsTokens).toEqual(['a token']);
      expect(configuration.countsInternalTokens).toEqual(['another token']);
    },
  );

  test('shows a private key to the region that it is of, and to nobody else', () => {
    const mountsOf = (name: string) => (compose.services[name].volumes ?? []).map((volume) => volume.split(':'));
    const regions = Object.entries(compose.services).filter(([, { environment }]) => environment?.QUOTADB_REPL_KEY);
    expect(regions.map(([name]) => name)).toEqual(['us', 'eu', 'ap']);
    for (const [name, { environment }] of regions) {
      const keys = mountsOf(name).filter(([, path]) => environment?.QUOTADB_REPL_KEY?.startsWith(`${path}/`));
      expect(keys).toEqual([[`certificates-${name}`, '/certificates', 'ro']]);
      const others = Object.keys(compose.services).filter((other) => other !== name && other !== 'certificates');
      for (const other of others) expect(mountsOf(other).map(([source]) => source)).not.toContain(keys[0][0]);
    }
    // What the script makes for a region goes into that region's volume, and the authority's key into none of them.
    const made = mountsOf('certificates');
    for (const [name] of regions) expect(made).toContainEqual([`certificates-${name}`, `/certificates/${name}`]);
    expect(made).toContainEqual(['authority', '/authority']);
    const withAuthority = Object.keys(compose.services).filter((name) =>
      mountsOf(name).some(([source]) => source === 'authority'),
    );
    expect(withAuthority).toEqual(['certificates']);
  });

  test('has nothing that the test in containers could not start', () => {
    for (const [name, service] of Object.entries(compose.services)) expect(runArguments(service), name).toBeTruthy();
    expect(runArguments(compose.services.us)).toEqual(
      expect.arrayContaining(['--read-only=true', '--cap-drop=ALL', '--publish=127.0.0.1::6380', '--memory=2g']),
    );
    expect(() => runArguments({ ...compose.services.us, imagine: 1 } as Service)).toThrow('a service has imagine');
  });

  test.each(['make-certificates.sh', 'benchmark.sh', 'container-test'])('%s is a script that a shell takes', (name) => {
    execFileSync('sh', ['-n', new URL(`deploy/${name}`, root).pathname]);
  });
});
