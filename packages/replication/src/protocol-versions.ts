import type { Hello } from '@quotadb/wire';

/** The versions of the replication protocol that a build speaks, from the lowest to the highest. */
export interface ProtocolRange {
  readonly lowest: number;
  readonly highest: number;
}

/**
 * Raise `highest` with every change that an older replica would not understand, and keep speaking the lower versions
 * for as long as releases that need them may be in one cluster with this one.
 */
export const PROTOCOL_VERSIONS: ProtocolRange = { lowest: 1, highest: 1 };

/**
 * `protocol` is the lowest version: releases from before there were ranges compare it with their only version, and
 * ignore the field of the highest. A hello without that field comes from such a release.
 */
export function protocolFields({ lowest, highest }: ProtocolRange): Pick<Hello, 'protocol' | 'highestProtocol'> {
  return { protocol: lowest, highestProtocol: highest === lowest ? 0 : highest };
}

export function protocolRangeOf({ protocol, highestProtocol }: Hello): ProtocolRange {
  return { lowest: protocol, highest: Math.max(protocol, highestProtocol) };
}

/** The highest version that both speak: both sides find the same one. Undefined where there is none. */
export function chooseProtocol(one: ProtocolRange, other: ProtocolRange): number | undefined {
  const chosen = Math.min(one.highest, other.highest);
  return chosen >= Math.max(one.lowest, other.lowest) ? chosen : undefined;
}

export function describeProtocols({ lowest, highest }: ProtocolRange): string {
  return lowest === highest ? `version ${lowest}` : `versions ${lowest} to ${highest}`;
}
