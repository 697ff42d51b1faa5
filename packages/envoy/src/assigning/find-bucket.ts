import type { DescriptorNode, Domains, Rule } from '../configuration/rule.js';
import { counterName } from '../matching/counter-name.js';
import { childOf } from '../matching/find-rule.js';
import type { Entry } from '../messages/rate-limit-request.js';

export interface BucketMatch {
  readonly rule: Rule;
  readonly counter: Buffer;
}

/** More entries could be ordered in too many ways. */
const MAXIMUM_BUCKET_ENTRIES = 6;

/**
 * The rule of a bucket. Its entries have no order, and those of a configuration have: the first order that leads to a
 * rule counts, keys in the order of the alphabet.
 */
export function findBucketRule(domains: Domains, domain: string, bucket: readonly Entry[]): BucketMatch | undefined {
  const root = domains.get(domain);
  if (root === undefined || bucket.length > MAXIMUM_BUCKET_ENTRIES) return undefined;
  const found = search(root, bucket, []);
  if (found === undefined) return undefined;
  const { rule, entries, sharedValues } = found;
  return { rule, counter: Buffer.from(counterName(domain, entries, sharedValues)) };
}

interface Found {
  readonly rule: Rule;
  readonly entries: readonly Entry[];
  readonly sharedValues: readonly (string | undefined)[];
}

interface Step {
  readonly entry: Entry;
  readonly sharedValue: string | undefined;
}

function search(node: DescriptorNode, rest: readonly Entry[], way: readonly Step[]): Found | undefined {
  if (rest.length === 0) {
    if (node.rule === undefined) return undefined;
    const sharedValues = way.map(({ sharedValue }) => sharedValue);
    return { rule: node.rule, entries: way.map(({ entry }) => entry), sharedValues };
  }
  for (const entry of rest) {
    const child = childOf(node, entry);
    if (child === undefined) continue;
    const others = rest.filter((other) => other !== entry);
    const found = search(child, others, [...way, { entry, sharedValue: child.sharedValue }]);
    if (found !== undefined) return found;
  }
  return undefined;
}
