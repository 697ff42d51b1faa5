import { portFor, type ViewNode } from '@quotadb/cluster';
import type { ReplyWriter } from '@quotadb/wire';
import { replyField } from '../../reply/values.js';
import type { LaneCluster } from '../../services/lane-cluster.js';
import type { Call } from '../../session/command.js';
import { isSecure } from '../../session/elsewhere.js';

/** `[first, last, [host, port, id, metadata]]` for every range, in the order of slots. */
export function clusterSlots({ reply, client, server }: Call, { view }: LaneCluster): void {
  const entries = view.nodes
    .flatMap((node) => node.slots.map((range) => ({ ...range, node })))
    .sort((one, other) => one.first - other.first);
  reply.array(entries.length);
  for (const { first, last, node } of entries) {
    reply.array(3);
    reply.integer(first);
    reply.integer(last);
    reply.array(4);
    reply.bulkText(node.host);
    reply.integer(portFor(node, isSecure(client, server)));
    reply.bulkText(node.id);
    reply.map(0);
  }
}

/** A shard for every node: its slots, and itself as the master. */
export function clusterShards({ reply }: Call, { view }: LaneCluster): void {
  reply.array(view.nodes.length);
  for (const node of view.nodes) {
    reply.map(2);
    reply.bulkText('slots');
    reply.array(2 * node.slots.length);
    for (const { first, last } of node.slots) {
      reply.integer(first);
      reply.integer(last);
    }
    reply.bulkText('nodes');
    reply.array(1);
    describeNode(reply, node);
  }
}

function describeNode(reply: ReplyWriter, { id, host, port, tlsPort, isLive }: ViewNode): void {
  reply.map(6 + (port === undefined ? 0 : 1) + (tlsPort === undefined ? 0 : 1));
  replyField(reply, 'id', id);
  if (port !== undefined) replyField(reply, 'port', port);
  if (tlsPort !== undefined) replyField(reply, 'tls-port', tlsPort);
  replyField(reply, 'ip', host);
  replyField(reply, 'endpoint', host);
  replyField(reply, 'role', 'master');
  replyField(reply, 'replication-offset', 0);
  replyField(reply, 'health', isLive ? 'online' : 'failed');
}
