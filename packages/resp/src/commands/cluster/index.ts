import { errors } from '../../errors/errors.js';
import { replyLines } from '../../reply/values.js';
import type { Call, Command } from '../../session/command.js';
import { defineCommand, defineFamily } from '../../session/define.js';
import { clusterMoving } from './moving.js';
import { clusterInfo, clusterLinks, clusterMyid, clusterNodes, clusterReplicas } from './nodes.js';
import { runOperation } from './operation.js';
import { clusterPolicies } from './policies.js';
import { clusterShards, clusterSlots } from './shards.js';
import { countKeysInSlot, getKeysInSlot, keySlot } from './slot-keys.js';
import { clusterStatus } from './status.js';

/** The answer where there is a cluster map; without one every client gets what a Redis without cluster mode replies. */
type Answer = (call: Call, cluster: NonNullable<Call['server']['cluster']>) => void;

function inCluster(answer: Answer): (call: Call) => void {
  return (call) => {
    const { client, reply, server } = call;
    if (server.cluster === undefined) return reply.error(errors.noCluster);
    // Who asks these questions knows where its keys are.
    client.isRedirected = true;
    answer(call, server.cluster);
  };
}

const mapDecides: Answer = ({ reply }) => reply.error(errors.mapDecides);
const ok: Answer = ({ reply }) => reply.ok();
const carry: Answer = ({ client, reply }) => {
  client.isNode = true;
  reply.ok();
};
const CHANGED_BY_MAP = 'Refused: the cluster map decides this.';

interface Subcommand {
  readonly arity: number;
  readonly summary: string;
  readonly syntax?: string;
  readonly answer: Answer;
  readonly role?: 'admin';
}

function refused(arity: number): Subcommand {
  return { arity, summary: CHANGED_BY_MAP, syntax: arity === 2 ? '' : '[arg [arg ...]]', answer: mapDecides };
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  addslots: refused(-3),
  addslotsrange: refused(-4),
  bumpepoch: refused(2),
  carry: {
    ...{ arity: 2, answer: carry },
    summary: 'Sent by nodes: the commands of this connection were carried here, and are not carried on.',
  },
  'count-failure-reports': refused(3),
  countkeysinslot: {
    ...{ arity: 3, syntax: 'slot', answer: countKeysInSlot },
    summary: 'Counts the keys of a slot here. It visits all keys; other clients are served meanwhile.',
  },
  delslots: refused(-3),
  delslotsrange: refused(-4),
  failover: refused(-2),
  flushslots: refused(2),
  forget: refused(3),
  getkeysinslot: {
    ...{ arity: 4, syntax: 'slot count', answer: getKeysInSlot },
    summary: 'Returns some of the keys of a slot here. It visits all keys; other clients are served meanwhile.',
  },
  help: { arity: 2, summary: 'Lists the subcommands.', answer: ({ reply }) => replyLines(reply, helpLines()) },
  info: { arity: 2, summary: 'Returns the state of the cluster, as lines.', answer: clusterInfo },
  keyslot: { arity: 3, summary: 'Returns the slot of a key.', syntax: 'key', answer: keySlot },
  links: { arity: 2, summary: 'Returns the links of the cluster bus: there is none.', answer: clusterLinks },
  meet: refused(-4),
  moving: {
    ...{ arity: -4, syntax: 'step about [entries]', answer: clusterMoving },
    summary: 'Sent by nodes: a step of moving slots between two groups.',
  },
  myid: { arity: 2, summary: 'Returns the id of this node.', answer: clusterMyid },
  nodes: { arity: 2, summary: 'Returns the nodes of this region and their slots, as lines.', answer: clusterNodes },
  operation: {
    ...{ arity: 5, syntax: 'method target body', answer: runOperation },
    summary: 'Sent by nodes: an operation of HTTP on a key of this group, which a client has asked another group for.',
  },
  policies: {
    ...{ arity: 4, syntax: 'digest changes', answer: clusterPolicies, role: 'admin' },
    summary: 'Sent by nodes: compares quota policies and the catalogue of limits with another group, or changes them.',
  },
  replicas: { arity: 3, summary: 'Returns the replicas of a node: none.', syntax: 'node-id', answer: clusterReplicas },
  replicate: refused(3),
  reset: refused(-2),
  saveconfig: refused(2),
  'set-config-epoch': refused(3),
  setslot: refused(-4),
  shards: { arity: 2, summary: 'Returns the slots of each node of this region.', answer: clusterShards },
  slaves: { arity: 3, summary: 'Returns the replicas of a node: none.', syntax: 'node-id', answer: clusterReplicas },
  status: {
    ...{ arity: 2, answer: clusterStatus },
    summary: 'Returns groups, members that are reachable or not, slots and moves, as JSON.',
  },
  slots: { arity: 2, summary: 'Returns the ranges of slots and their nodes in this region.', answer: clusterSlots },
};

function helpLines(): string[] {
  return [
    'CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:',
    ...Object.entries(SUBCOMMANDS)
      .filter(([, { answer }]) => answer !== mapDecides)
      .flatMap(([name, { syntax = '', summary }]) => [`${name.toUpperCase()} ${syntax}`.trimEnd(), `    ${summary}`]),
  ];
}

const define = defineFamily({ flags: ['loading', 'stale', 'fast'], group: 'cluster', since: '3.0.0' });

export const clusterCommands: readonly Command[] = [
  defineCommand({
    name: 'cluster',
    arity: -2,
    flags: [],
    group: 'cluster',
    summary: 'Slots and nodes, where there is a cluster map; otherwise refused as by a Redis without cluster mode.',
    since: '3.0.0',
    complexity: 'Depends on subcommand',
    subcommands: Object.entries(SUBCOMMANDS).map(([name, { arity, summary, syntax = '', answer, role }]) =>
      define({
        name,
        arity,
        flags: name === 'moving' ? ['admin', 'noscript', 'stale'] : ['stale'],
        summary,
        syntax,
        ...(role && { role }),
        ...(/keysinslot/.test(name) && { complexity: 'O(N) where N is the number of keys.', givesWay: true as const }),
        run: inCluster(answer),
      }),
    ),
  }),
  define({
    name: 'asking',
    arity: 1,
    flags: ['fast'],
    summary: 'Accepted: commands on a slot that is on its way wait until it is there.',
    run: inCluster(ok),
  }),
  define({
    name: 'readonly',
    arity: 1,
    summary: 'Accepted: every node of a group reads and writes.',
    run: inCluster(ok),
  }),
  define({
    name: 'readwrite',
    arity: 1,
    summary: 'Accepted: every node of a group reads and writes.',
    run: inCluster(ok),
  }),
];
