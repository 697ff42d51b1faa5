import { infoLines, printNodes } from '@quotadb/cluster';
import { errors } from '../../errors/errors.js';
import { textArgument } from '../../request/arguments.js';
import type { LaneCluster } from '../../services/lane-cluster.js';
import type { Call } from '../../session/command.js';
import { isSecure } from '../../session/elsewhere.js';

export function clusterNodes({ reply, client, server }: Call, { view }: LaneCluster): void {
  reply.verbatim(printNodes(view, isSecure(client, server), Math.floor(server.clock.now())));
}

export function clusterInfo({ reply }: Call, { view }: LaneCluster): void {
  reply.verbatim(
    infoLines(view)
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join(''),
  );
}

export function clusterMyid({ reply }: Call, { view }: LaneCluster): void {
  reply.bulkText(view.nodes[view.ownIndex]?.id ?? '');
}

/** There is no cluster bus. */
export function clusterLinks({ reply }: Call): void {
  reply.array(0);
}

/** Nodes are masters, all of them. */
export function clusterReplicas({ reply, request }: Call, { view }: LaneCluster): void {
  const id = textArgument(request, 2);
  if (view.nodes.some((node) => node.id === id)) reply.array(0);
  else reply.error(errors.nodeUnknown(id));
}
