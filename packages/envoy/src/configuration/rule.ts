import { createHash } from 'node:crypto';
import type { UnitName } from '../messages/units.js';

/**
 *   fixed    as the reference counts: a window that begins with every unit; the counter grows also over the limit
 *   sliding  a sliding window of the unit's length
 *   exact    tokens of a quota: never more than the limit in all regions together
 */
export type RuleKind = 'fixed' | 'sliding' | 'exact';

/** A limit of the configuration. */
export interface Rule {
  /** The path to it, as the reference names its figures: `domain.key_value.key`. */
  readonly path: string;
  readonly kind: RuleKind;
  readonly requestsPerUnit: number;
  /** Undefined where it is unlimited. */
  readonly unit: UnitName | undefined;
  readonly name: string;
  /** Names of limits that do not count where this one applies to the same request. */
  readonly replaces: readonly string[];
  readonly isShadow: boolean;
  /** Over the limit it is reported in the metadata and denies nothing. */
  readonly isQuotaMode: boolean;
  /** Its figures are apart for every value. */
  readonly isDetailed: boolean;
  /** The name of the quota, of the limit in the store, or of its usage in exports; empty where it is unlimited. */
  readonly limitName: string;
}

/** One descriptor of a configuration, and the descriptors below it. */
export interface DescriptorNode {
  readonly rule: Rule | undefined;
  /** By `key_value`, or `key` where it has no value. */
  readonly children: ReadonlyMap<string, DescriptorNode>;
  /** Children whose value ends with a `*`, in the order of the file. */
  readonly wildcards: readonly Wildcard[];
  /** The value as it is written, where all values that match it share one counter. */
  readonly sharedValue: string | undefined;
  /** Figures name the value that came, where the file has none or one with a `*`. */
  readonly hasValueInMetric: boolean;
  /** It, or a descriptor above it, has a value in its metric. */
  readonly namesValues: boolean;
  /** As it is in the path of figures: `key_value` or `key`. */
  readonly label: string;
}

export interface Wildcard {
  /** `key_value` without its last character. */
  readonly prefix: string;
  readonly node: DescriptorNode;
}

/** By domain. */
export type Domains = ReadonlyMap<string, DescriptorNode>;

/** The names of quotas that configurations define begin with it. */
export const QUOTA_PREFIX = 'envoy:';
const MAXIMUM_NAME_BYTES = 128;
const DIGEST_DIGITS = 16;

/** The unit is in the name because the window of a quota never changes. */
export function limitNameOf(path: string, unit: UnitName): string {
  const name = `${QUOTA_PREFIX}${path}:${unit}`;
  if (Buffer.byteLength(name) <= MAXIMUM_NAME_BYTES) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_DIGITS);
  const room = MAXIMUM_NAME_BYTES - DIGEST_DIGITS - 1;
  const start = Buffer.from(name)
    .subarray(0, room)
    .toString('latin1')
    .replaceAll(/[\u007f-\u00ff\p{Cc}]/gu, '?');
  return `${start}~${digest}`;
}

/** Every rule of a configuration. */
export function rulesOf(domains: Domains): Rule[] {
  const below = (node: DescriptorNode): Rule[] => [
    ...(node.rule === undefined ? [] : [node.rule]),
    ...[...node.children.values()].flatMap(below),
  ];
  return [...domains.values()].flatMap(below);
}
