import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readMapDocument } from '@quotadb/cluster';
import { environmentVariable, loadConfiguration, peersOf, settingNames, settingOf } from '@quotadb/config';
import type { StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from './compose.js';
import { environmentOf, parseDockerfile } from './dockerfile.js';
import { type Manifest, readKustomization, readManifests, typeMistakes } from './manifests.js';

const DIRECTORY = join(REPOSITORY, 'deploy/kubernetes/cluster');
const GROUPS = ['red', 'blue'];
const ORDINALS = [0, 1];
const PODS = GROUPS.flatMap((group) => ORDINALS.map((ordinal) => ({ group, pod: `quotadb-${group}-${ordinal}` })));
const NAMESPACE = 'quotadb';

let manifests: readonly Manifest[];
let image: Readonly<Record<string, string>>;

beforeAll(async () => {
  manifests = await readManifests(DIRECTORY);
  image = environmentOf(parseDockerfile(await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8')).at(-1) as never);
});

function named<Kind>(kind: string, name: string): Kind {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  return (found ?? expect.unreachable(`${kind} ${name}`)) as unknown as Kind;
}

const setOf = (name: string) => named<StatefulSet>('StatefulSet', name).spec ?? expect.unreachable();
const podOf = (name: string) => setOf(name).template.spec ?? expect.unreachable();
const firstMap = () => readMapDocument(named<ConfigMap>('ConfigMap', 'quotadb-first-map').data?.['cluster.yaml'] ?? '');

/** The environment of a pod, as the kubelet makes it. */
function environmentOfPod(group: string, pod: string): Readonly<Record<string, string>> {
  const container = podOf(`quotadb-${group}`).containers[0];
  const given: Record<string, string> = { ...image };
  for (const { configMapRef } of container.envFrom ?? [])
    Object.assign(given, named<ConfigMap>('ConfigMap', configMapRef?.name ?? '').data);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const isName = valueFrom?.fieldRef?.fieldPath === 'metadata.name';
    // Only variables that stand before this one.
    given[name] = isName
      ? pod
      : (value ?? 'secret').replaceAll(/\$\((\w+)\)/g, (whole, other) => given[other] ?? whole);
  }
  return given;
}

describe('the manifests of a cluster for Kubernetes', () => {
  test('are what the published types of Kubernetes allow, with no name that they do not know', async () => {
    const wrong = { ...structuredClone(manifests[0]), imagine: 'x' };
    const mistakes = (await typeMistakes([...manifests, wrong])).trim().split('\n');
    expect(mistakes).toEqual([expect.stringContaining('"imagine"')]);
  });

  test('are all in the kustomization, in a namespace that admits restricted pods only', async () => {
    const kustomization = await readKustomization(DIRECTORY);
    expect([...kustomization.resources].sort()).toEqual([...new Set(manifests.map(({ file }) => file))].sort());
    expect(kustomization.namespace).toBe(NAMESPACE);
    expect(kustomization.images.map(({ name }) => name)).toEqual([podOf('quotadb-red').containers[0].image]);
    const namespace = await readFile(join(DIRECTORY, 'namespace.yaml'), 'utf8');
    expect(namespace).toBe(await readFile(join(DIRECTORY, '../namespace.yaml'), 'utf8'));
    for (const name of ['quotadb-red', 'quotadb-blue', 'quotadb-etcd']) {
      const pod = podOf(name);
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
      for (const { securityContext } of pod.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('have for blue what they have for red, under its own name', async () => {
    const red = await readFile(join(DIRECTORY, 'red.yaml'), 'utf8');
    expect(await readFile(join(DIRECTORY, 'blue.yaml'), 'utf8')).toBe(red.replaceAll(/\bred\b/g, 'blue'));
  });

  test.each(PODS)('start $pod as the member of the first map that is at its name', ({ group, pod }) => {
    const environment = environmentOfPod(group, pod);
    const known = settingNames.map((setting) => environmentVariable(settingOf(setting).flag));
    for (const name of Object.keys(environment).filter((name) => name.startsWith('QUOTADB_')))
      expect(known).toContain(name);
    const configuration = loadConfiguration({ flags: {}, environment });
    expect(configuration).toMatchObject({ region: 'us', group, cluster: group, member: pod, dataDirectory: '/data' });
    expect(configuration).toMatchObject({
      replicationPlaintext: false,
      replicationCertificate: `/certificates/us.${pod}.crt`,
      replicationKey: `/certificates/us.${pod}.key`,
    });
    const service = setOf(`quotadb-${group}`).serviceName;
    const others = PODS.filter((other) => other.group === group && other.pod !== pod);
    expect(peersOf(configuration)).toEqual(
      others.map((other) => ({ region: `us/${other.pod}`, host: `${other.pod}.${service}`, port: 7380 })),
    );
    const member = firstMap().groups[group].members.find((one) => one.member === pod);
    expect(member).toEqual({
      region: 'us',
      member: pod,
      host: `${pod}.${service}.${NAMESPACE}.svc`,
      port: configuration.respPort,
    });
    const secrets = podOf(`quotadb-${group}`).volumes?.flatMap(({ secret }) => secret?.secretName ?? []);
    expect(secrets).toEqual([`quotadb-${group}-certificates`]);
  });

  test('have every slot and every pod in the first map, which is where the guide looks for it', async () => {
    const { groups } = firstMap();
    expect(Object.entries(groups).map(([name, { slots }]) => [name, slots])).toEqual([
      ['red', '0-8191'],
      ['blue', '8192-16383'],
    ]);
    for (const group of GROUPS) expect(groups[group].members).toHaveLength(setOf(`quotadb-${group}`).replicas ?? 0);
    const mounts = podOf('quotadb-red').containers[0].volumeMounts?.map(({ mountPath }) => mountPath);
    expect(mounts).toContain('/first-map');
    const guide = await readFile(join(REPOSITORY, 'docs/kubernetes.md'), 'utf8');
    expect(guide).toContain('quotadb cluster init /first-map/cluster.yaml');
  });

  test('have three members of etcd that know each other, where the servers look for them', () => {
    const { replicas, serviceName } = setOf('quotadb-etcd');
    const names = Array.from({ length: replicas ?? 0 }, (_, ordinal) => `quotadb-etcd-${ordinal}`);
    expect(names).toHaveLength(3);
    const { etcdUrls } = loadConfiguration({ flags: {}, environment: environmentOfPod('red', 'quotadb-red-0') });
    expect(etcdUrls).toEqual(names.map((name) => `http://${name}.${serviceName}:2379`));
    const words = podOf('quotadb-etcd').containers[0].command ?? [];
    const peers = names.map((name) => `${name}=http://${name}.${serviceName}:2380`);
    expect(words).toContain(`--initial-cluster=${peers.join()}`);
    expect(words).toContain(`--initial-advertise-peer-urls=http://$(POD).${serviceName}:2380`);
    expect(podOf('quotadb-etcd').containers[0].image).toMatch(/:v3\.\d+\.\d+$/);
  });

  test('lose one member of a group, and one of etcd, to maintenance at a time', () => {
    for (const name of ['quotadb-red', 'quotadb-blue', 'quotadb-etcd']) {
      const budget = named<PodDisruptionBudget>('PodDisruptionBudget', name).spec;
      expect(budget?.maxUnavailable).toBe(1);
      expect(setOf(name).template.metadata?.labels).toEqual(budget?.selector?.matchLabels);
      expect(setOf(name).selector.matchLabels).toEqual(budget?.selector?.matchLabels);
      expect(setOf(name).podManagementPolicy).toBe('Parallel');
    }
  });

  test('let through what servers, etcd and clients need of each other, and nothing that no pod listens on', () => {
    const toPorts = (policy: string, name: string) => {
      const rules = named<NetworkPolicy>('NetworkPolicy', policy).spec?.egress ?? [];
      const isMeant = { podSelector: { matchLabels: { 'app.kubernetes.io/name': name } } };
      const found = rules.filter(({ to }) => JSON.stringify(to) === JSON.stringify([isMeant]));
      return found.flatMap(({ ports }) => ports?.map(({ port }) => port));
    };
    expect(toPorts('quotadb', 'quotadb')).toEqual([7380, 6380]);
    expect(toPorts('quotadb', 'quotadb-etcd')).toEqual([2379]);
    expect(toPorts('quotadb-etcd', 'quotadb-etcd')).toEqual([2380]);
    for (const [policy, set] of Object.entries({ quotadb: 'quotadb-red', 'quotadb-etcd': 'quotadb-etcd' })) {
      const { podSelector, ingress } = named<NetworkPolicy>('NetworkPolicy', policy).spec ?? {};
      expect(setOf(set).template.metadata?.labels).toMatchObject(podSelector?.matchLabels ?? { none: '' });
      const listens = podOf(set).containers[0].ports?.map(({ name }) => name);
      for (const { port } of ingress?.flatMap(({ ports }) => ports ?? []) ?? []) expect(listens).toContain(port);
    }
    const clients = named<Service>('Service', 'quotadb').spec;
    expect(clients?.selector).toEqual({ 'app.kubernetes.io/name': 'quotadb' });
    expect(clients?.ports?.map(({ port }) => port)).toEqual([6380, 8380]);
  });
});
