import type { SimulatedNode } from './node.js';
import type { Plan } from './plan.js';

/** Gives each of these nodes its peers, in the topology of the plan. */
export function wirePeers(nodes: readonly SimulatedNode[], { topology, isMutual }: Plan): void {
  for (const node of nodes) node.peers.clear();
  for (const [index, node] of nodes.entries()) {
    if (topology === 'mesh') for (const other of nodes) if (other !== node) node.peers.add(other.region);
    if (topology === 'hub' && index > 0) pair(node, nodes[0], isMutual);
    if (topology === 'chain' && index > 0) pair(node, nodes[index - 1], isMutual);
  }
  for (const node of nodes) {
    for (const region of node.peers) node.running?.replica.addMember(region);
  }
}

/** The first dials the second; where that is mutual, the second has the first among its peers too. */
function pair(one: SimulatedNode, other: SimulatedNode, isMutual: boolean): void {
  one.peers.add(other.region);
  if (isMutual) other.peers.add(one.region);
}
