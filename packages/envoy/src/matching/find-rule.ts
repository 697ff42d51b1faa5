import type { DescriptorNode, Domains, Rule, Wildcard } from '../configuration/rule.js';
import type { Entry } from '../messages/rate-limit-request.js';

/** The limit of a descriptor. */
export interface Match {
  readonly rule: Rule;
  /** Where entries matched a value whose counter is shared: that value, by the entry's place. */
  readonly sharedValues: SharedValues;
  /** The name of its figures: the rule's path, with values where the configuration says so. */
  readonly figure: string;
}

export type SharedValues = readonly (string | undefined)[] | undefined;

/**
 * Finds the limit of a descriptor as the reference does: at each level `key_value` before a value that ends with a `*`,
 * the first in the order of the file, before `key` alone. A limit applies at the level of the last entry, and at no
 * other.
 */
export function findRule(domains: Domains, domain: string, entries: readonly Entry[]): Match | undefined {
  const root = domains.get(domain);
  if (root === undefined) return undefined;
  let node: DescriptorNode | undefined = root;
  let sharedValues: (string | undefined)[] | undefined;
  for (let index = 0; index < entries.length; index++) {
    node = childOf(node, entries[index]);
    if (node === undefined) return undefined;
    if (node.sharedValue !== undefined) {
      sharedValues ??= new Array(entries.length).fill(undefined);
      sharedValues[index] = node.sharedValue;
    }
  }
  const { rule } = node;
  if (rule === undefined) return undefined;
  const hasOwnFigure = rule.isDetailed || node.namesValues;
  const figure = hasOwnFigure ? nameFigure(root, domain, entries, rule.isDetailed) : rule.path;
  return { rule, sharedValues, figure };
}

/** The descriptor below `level` that an entry matches. */
export function childOf(level: DescriptorNode, { key, value }: Entry): DescriptorNode | undefined {
  const name = `${key}_${value}`;
  return level.children.get(name) ?? matchWildcard(level.wildcards, name) ?? level.children.get(key);
}

function matchWildcard(wildcards: readonly Wildcard[], name: string): DescriptorNode | undefined {
  for (const { prefix, node } of wildcards) if (name.startsWith(prefix)) return node;
  return undefined;
}

/** Walks the levels a second time: only limits whose figures name values pay for it. */
function nameFigure(root: DescriptorNode, domain: string, entries: readonly Entry[], isDetailed: boolean): string {
  let node = root;
  let figure = domain;
  for (const entry of entries) {
    node = childOf(node, entry) as DescriptorNode;
    const hasValue = node.sharedValue === undefined && (isDetailed || node.hasValueInMetric);
    figure += hasValue && entry.value !== '' ? `.${entry.key}_${entry.value}` : `.${node.label}`;
  }
  return figure;
}
