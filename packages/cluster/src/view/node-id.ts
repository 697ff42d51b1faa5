import { createHash } from 'node:crypto';
import type { Member } from '../map/cluster-map.js';

/** Forty hexadecimal digits, as Redis names its nodes; the same at every node and at every start. */
export function nodeIdOf({ group, region, name }: Pick<Member, 'group' | 'region' | 'name'>): string {
  return createHash('sha1').update(`quotadb node ${group} ${region} ${name}`).digest('hex');
}
