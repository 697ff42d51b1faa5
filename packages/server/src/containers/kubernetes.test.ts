import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environmentVariable, loadConfiguration, peersOf, settingNames, settingOf } from '@quotadb/config';
import type { StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap, Namespace, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { statusApi } from '../http/status/status-api.js';
import { REPOSITORY } from './compose.js';
import { environmentOf, parseDockerfile } from './dockerfile.js';
import { type Manifest, readKustomization, readManifests, typeMistakes } from './manifests.js';

const DIRECTORY = join(REPOSITORY, 'deploy/kubernetes');
const REGIONS = ['us', 'eu', 'ap'];
const SECRETS: Readonly<Record<string, string>> = {
  QUOTADB_PASSWORD: 'secret',
  QUOTADB_COUNTS_TOKEN: 'a token',
  QUOTADB_COUNTS_INTERNAL_TOKEN: 'another token',
  QUOTADB_POSTGRES: 'postgresql://quotadb:secret@postgres:5432/counts',
};
let manifests: readonly Manifest[];
let image: Readonly<Record<string, string>>;

beforeAll(async () => {
  manifests = await readManifests(DIRECTORY);
  const stages = parseDockerfile(await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8'));
  image = environmentOf(stages.at(-1) ?? expect.unreachable());
});

function allOf<Kind>(kind: string): readonly Kind[] {
  return manifests.filter((manifest) => manifest.kind === kind) as readonly unknown[] as readonly Kind[];
}

function named<Kind>(kind: string, name: string): Kind {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  return (found ?? expect.unreachable(`${kind} ${name}`)) as unknown as Kind;
}

const region = (name: string) => named<StatefulSet>('StatefulSet', `quotadb-${name}`);
const podOf = (name: string) => region(name).spec?.template.spec ?? expect.unreachable();
const containerOf = (name: string) => podOf(name).containers[0];
const isSelected = (selector: object | undefined, labels: object | undefined) =>
  expect(labels).toMatchObject(selector ?? expect.unreachable());

describe('the manifests for Kubernetes', () => {
  test('are what the published types of Kubernetes allow, with no name that they do not know', async () => {
    const known = manifests.filter(({ kind }) => kind !== 'ServiceMonitor');
    expect(known).toHaveLength(13);
    const wrong = { ...structuredClone(known[0]), imagine: 'x' };
    const mistakes = (await typeMistakes([...known, wrong])).trim().split('\n');
    expect(mistakes).toEqual([expect.stringContaining('"imagine"')]);
  });

  test('are all in the kustomization, but for the kind that needs an operator', async () => {
    const kustomization = await readKustomization(DIRECTORY);
    const files = new Set(manifests.map(({ file }) => file));
    files.delete('monitoring.yaml');
    expect([...kustomization.resources].sort()).toEqual([...files].sort());
    expect(kustomization.namespace).toBe(allOf<Namespace>('Namespace')[0].metadata?.name);
    expect(kustomization.images.map(({ name }) => name)).toEqual([containerOf('us').image]);
  });

  test.each(['eu', 'ap'])('have for %s what they have for us, under its own name', async (name) => {
    const us = await readFile(join(DIRECTORY, 'us.yaml'), 'utf8');
    expect(await readFile(join(DIRECTORY, `${name}.yaml`), 'utf8')).toBe(us.replaceAll(/\bus\b/g, name));
  });

  test.each(REGIONS)('start %s with settings that the server takes, its peers by the names of their pods', (name) => {
    const container = containerOf(name);
    const { data } = named<ConfigMap>('ConfigMap', container.envFrom?.[0].configMapRef?.name ?? '');
    const own = container.env?.map(({ name, value }) => [name, value ?? SECRETS[name]]) ?? [];
    const environment: Record<string, string> = { ...image, ...data, ...Object.fromEntries(own) };
    const known = settingNames.map((setting) => environmentVariable(settingOf(setting).flag));
    for (const variable of Object.keys(environment).filter((variable) => variable.startsWith('QUOTADB_')))
      expect(known).toContain(variable);
    const configuration = loadConfiguration({ flags: {}, environment });
    expect(configuration).toMatchObject({ region: name, replicationPlaintext: false, dataDirectory: '/data' });
    const others = REGIONS.filter((other) => other !== name).map((other) => {
      const { metadata, spec } = region(other);
      return { region: other, host: `${metadata?.name}-0.${spec?.serviceName}`, port: 7380 };
    });
    expect(peersOf(configuration)).toEqual(others);
    const mounts = container.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
    for (const path of [
      configuration.replicationCertificate,
      configuration.replicationKey,
      configuration.dataDirectory,
    ])
      expect(mounts.some((mount) => path.startsWith(mount))).toBe(true);
    expect(configuration.maxMemoryBytes * 2).toBeLessThanOrEqual(2 * 1024 ** 3);
    expect(container.resources?.limits).toEqual({ cpu: '2', memory: '2Gi' });
  });

  test.each(REGIONS)('show the private key of %s to its pod alone', (name) => {
    const secrets = podOf(name).volumes?.flatMap(({ secret }) => secret?.secretName ?? []);
    expect(secrets).toEqual([`quotadb-${name}-certificate`]);
  });

  test.each(REGIONS)('run one server for %s, not as root, with nothing to write to but its data', (name) => {
    expect(region(name).spec?.replicas).toBe(1);
    const pod = podOf(name);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      fsGroup: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
    expect(containerOf(name).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test.each(REGIONS)('find the pod of %s by its labels, for clients when it is ready, for peers always', (name) => {
    const { template, selector, serviceName } = region(name).spec ?? expect.unreachable();
    const labels = template.metadata?.labels;
    isSelected(selector.matchLabels, labels);
    const clients = named<Service>('Service', `quotadb-${name}`).spec;
    const peers = named<Service>('Service', serviceName).spec;
    for (const service of [clients, peers]) {
      isSelected(service?.selector, labels);
      const ports = containerOf(name).ports?.map((port) => port.name);
      for (const { targetPort } of service?.ports ?? []) expect(ports).toContain(targetPort);
    }
    expect(peers).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    expect(clients?.publishNotReadyAddresses).toBeUndefined();
    expect(clients?.ports?.map(({ port }) => port)).toEqual([6380, 8380]);
    for (const policy of allOf<PodDisruptionBudget>('PodDisruptionBudget'))
      isSelected(policy.spec?.selector?.matchLabels, labels);
    for (const policy of allOf<NetworkPolicy>('NetworkPolicy'))
      isSelected(policy.spec?.podSelector?.matchLabels, labels);
  });

  test('ask whether a server lives and whether it serves at addresses that it has', () => {
    const paths = new Set(statusApi.operations.map(({ path }) => path));
    const { startupProbe, livenessProbe, readinessProbe } = containerOf('us');
    const asked = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path ?? '');
    expect(asked).toEqual(['/healthz', '/healthz', '/readyz']);
    for (const path of asked) expect(paths).toContain(path);
    const monitor = manifests.find(({ kind }) => kind === 'ServiceMonitor') as unknown as {
      spec: { selector: { matchLabels: object }; endpoints: { port: string; path: string }[] };
    };
    expect(paths).toContain(monitor.spec.endpoints[0].path);
    const services = allOf<Service>('Service').filter(({ metadata }) => metadata?.labels !== undefined);
    expect(services).toHaveLength(REGIONS.length);
    for (const { metadata, spec } of services) {
      isSelected(monitor.spec.selector.matchLabels, metadata?.labels);
      expect(spec?.ports?.map(({ name }) => name)).toContain(monitor.spec.endpoints[0].port);
    }
  });
});
