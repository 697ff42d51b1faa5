import { countSlots, printRange } from '../slots/slot-range.js';
import type { ClusterView, ViewNode } from './cluster-view.js';

/** The port for a client that came over TLS, or not; the other one where the node has only that. */
export function portFor({ port, tlsPort }: ViewNode, isSecure: boolean): number {
  return (isSecure ? (tlsPort ?? port) : (port ?? tlsPort)) ?? 0;
}

/** CLUSTER NODES: a line for each node. There is no cluster bus, so its port is 0. */
export function printNodes({ nodes, ownIndex, revision }: ClusterView, isSecure: boolean, nowMs: number): string {
  const lines = nodes.map((node, index) => {
    const flags = [...(index === ownIndex ? ['myself'] : []), 'master', ...(node.isLive ? [] : ['fail'])].join(',');
    const heardMs = index === ownIndex ? 0 : nowMs;
    const link = node.isLive ? 'connected' : 'disconnected';
    const address = `${node.host}:${portFor(node, isSecure)}@0`;
    return [node.id, address, flags, '-', 0, heardMs, revision, link, ...node.slots.map(printRange)].join(' ');
  });
  return `${lines.join('\n')}\n`;
}

/** The lines of CLUSTER INFO. */
export function infoLines({ nodes, revision }: ClusterView): (readonly [string, string | number])[] {
  const assigned = countSlots(nodes.flatMap(({ slots }) => slots));
  const failed = countSlots(nodes.filter(({ isLive }) => !isLive).flatMap(({ slots }) => slots));
  return [
    ['cluster_state', 'ok'],
    ['cluster_slots_assigned', assigned],
    ['cluster_slots_ok', assigned - failed],
    ['cluster_slots_pfail', 0],
    ['cluster_slots_fail', failed],
    ['cluster_known_nodes', nodes.length],
    ['cluster_size', nodes.filter(({ slots }) => slots.length > 0).length],
    ['cluster_current_epoch', revision],
    ['cluster_my_epoch', revision],
    ['cluster_stats_messages_sent', 0],
    ['cluster_stats_messages_received', 0],
    ['total_cluster_links_buffer_limit_exceeded', 0],
  ];
}
