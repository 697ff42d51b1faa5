import { type Hello, makeVisible, SERVER_NAME } from '@quotadb/wire';
import { isSameReplica, type ReplicaIdentity, replicaIdOf } from './identity.js';
import { chooseProtocol, describeProtocols, type ProtocolRange, protocolRangeOf } from './protocol-versions.js';

/** Why one replica refuses a link to another: a code for metrics, and a sentence for the operators of both. */
export interface RefusalReason {
  readonly code: RefusalCode;
  readonly message: string;
}

export type RefusalCode =
  | 'protocol'
  | 'cluster'
  | 'shards'
  | 'agreement'
  | 'self'
  | 'region'
  | 'identity'
  | 'certificate'
  | 'duplicate'
  | 'twin'
  | 'relay'
  | 'broken'
  | 'amnesia'
  | 'origins'
  | 'removed';

/** The facts about a peer that are known before its hello. */
export interface Acquaintance {
  readonly isDialed: boolean;
  readonly address: string;
  /** The region that this replica meant to dial. */
  readonly expectedRegion?: string;
  /** The region that the peer's certificate names. Undefined where there is no TLS. */
  readonly certified?: { readonly cluster: string; readonly region: string; readonly mayRelay: boolean };
}

export interface OwnSide {
  readonly identity: ReplicaIdentity;
  readonly protocols: ProtocolRange;
  readonly engine: { readonly shardCount: number };
}

/** Undefined where the two can work together. */
export function findRefusal(
  { identity: own, protocols, engine: { shardCount } }: OwnSide,
  hello: Hello,
  acquaintance: Acquaintance,
): RefusalReason | undefined {
  const { certified, expectedRegion } = acquaintance;
  const here = `region ${own.region}`;
  const theirs = protocolRangeOf(hello);
  if (chooseProtocol(protocols, theirs) === undefined) {
    const ranges = `${describeProtocols(protocols)} of the protocol, ${hello.region} ${describeProtocols(theirs)}`;
    return refuse('protocol', `${here} speaks ${ranges}: upgrade the older of the two`);
  }
  if (!SERVER_NAME.test(hello.region))
    return refuse(
      'region',
      `"${makeVisible(hello.region)}" is no name of a region or of a member (--region, --member)`,
    );
  if (hello.cluster !== own.cluster)
    return refuse(
      'cluster',
      `${here} is in cluster "${own.cluster}", ${hello.region} in "${hello.cluster}" (--cluster)`,
    );
  if (hello.region === own.region || isSameReplica(hello.origin, own.origin))
    return refuse(
      'self',
      `two replicas call themselves region ${own.region}, or one has dialed itself (--region, --member, --peer)`,
    );
  if (expectedRegion !== undefined && expectedRegion !== hello.region)
    return refuse(
      'region',
      `${here} has dialed ${expectedRegion} and found ${hello.region} at ${acquaintance.address} (--peer)`,
    );
  if (certified !== undefined && (certified.region !== hello.region || certified.cluster !== hello.cluster))
    return refuse(
      'certificate',
      `the certificate of ${certified.cluster}/${certified.region} does not speak for ${hello.cluster}/${hello.region}`,
    );
  if (!isSameReplica(hello.origin, replicaIdOf(hello.cluster, hello.region)))
    return refuse('identity', `the replica id of ${hello.region} is not that of this region in this cluster`);
  if (hello.shardCount !== shardCount)
    return refuse(
      'shards',
      `${here} has ${shardCount} shards, ${hello.region} ${hello.shardCount} (--shards); they must be equal`,
    );
  return findDisagreement(own, hello);
}

function findDisagreement(own: ReplicaIdentity, hello: Hello): RefusalReason | undefined {
  const theirs = new Map(hello.agreements.map(({ name, value }) => [name, value]));
  const names = new Set([...own.agreements.map(({ name }) => name), ...theirs.keys()]);
  for (const name of names) {
    const mine = own.agreements.find((agreement) => agreement.name === name)?.value;
    const other = theirs.get(name);
    if (mine === other) continue;
    const say = (value: string | undefined) => (value === undefined ? 'not set' : `"${value}"`);
    return refuse(
      'agreement',
      `${name} is ${say(mine)} in ${own.region} and ${say(other)} in ${hello.region}; it must be the same`,
    );
  }
  return undefined;
}

function refuse(code: RefusalCode, message: string): RefusalReason {
  return { code, message };
}
