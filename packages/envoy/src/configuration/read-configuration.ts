import type { Node } from 'yaml';
import { type UnitName, units } from '../messages/units.js';
import { type DescriptorNode, type Domains, limitNameOf, type Rule, type RuleKind, type Wildcard } from './rule.js';
import { type Field, type Mistake, YamlFile } from './yaml-file.js';

/** The text of one file of a configuration. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

export type Configuration =
  | { readonly domains: Domains; readonly mistakes?: undefined }
  | { readonly domains?: undefined; readonly mistakes: readonly Mistake[] };

const MAXIMUM_UINT32 = 2 ** 32 - 1;
/** A request has as many entries as there are levels, and at most 32. */
const MAXIMUM_LEVELS = 32;
const MAXIMUM_DESCRIPTORS = 20_000;

/** At the end of a value, and nowhere else: elsewhere it is a character like others. */
const WILDCARD = '*';

const ROOT_KEYS = new Set(['domain', 'descriptors']);
const DESCRIPTOR_KEYS = new Set([
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'exact',
  'sliding',
]);
const LIMIT_KEYS = new Set(['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces']);
const REPLACES_KEYS = new Set(['name']);

/** Reads all files of a configuration, or finds all mistakes in them. */
export function readConfiguration(files: readonly SourceFile[]): Configuration {
  const domains = new Map<string, DescriptorNode>();
  const mistakes: Mistake[] = [];
  const homes = new Map<string, string>();
  for (const { name, text } of files) {
    const file = new YamlFile(name, text);
    const read = file.mistakes.length === 0 ? new FileReader(file).read() : undefined;
    const earlier = read && homes.get(read.domain);
    if (read !== undefined && earlier !== undefined)
      file.report(`the domain '${read.domain}' is in ${earlier} already: a domain has one file`, read.at);
    else if (read !== undefined) {
      homes.set(read.domain, name);
      domains.set(read.domain, read.node);
    }
    mistakes.push(...file.mistakes);
  }
  return mistakes.length === 0 ? { domains } : { mistakes };
}

/** Reads one file, and reports the mistakes to it. */
class FileReader {
  private readonly file: YamlFile;
  private count = 0;

  constructor(file: YamlFile) {
    this.file = file;
  }

  read(): { readonly domain: string; readonly at: Node | null; readonly node: DescriptorNode } | undefined {
    const { file } = this;
    const fields = file.fields(file.root, 'a configuration', ROOT_KEYS, null);
    if (fields === undefined) return undefined;
    const domain = file.text(fields.get('domain'));
    const at = fields.get('domain')?.value ?? fields.get('domain')?.key ?? file.root;
    if (domain === '') file.report("there must be a 'domain', and it must not be empty", at);
    const below = this.descriptors(fields.get('descriptors'), { path: `${domain}.`, depth: 1, namesValues: false });
    return { domain, at, node: { ...LEAF, ...below } };
  }

  private descriptors(field: Field | undefined, level: Level): Children {
    const { file } = this;
    const { path, depth } = level;
    const children = new Map<string, DescriptorNode>();
    const wildcards: Wildcard[] = [];
    const items = file.list(field);
    if (items.length > 0 && depth > MAXIMUM_LEVELS) {
      file.report(`descriptors are nested more than ${MAXIMUM_LEVELS} levels deep`, field?.key);
      return { children, wildcards };
    }
    for (const item of items) {
      if (++this.count > MAXIMUM_DESCRIPTORS) {
        if (this.count === MAXIMUM_DESCRIPTORS + 1)
          file.report(`a file has at most ${MAXIMUM_DESCRIPTORS} descriptors`, item as Node);
        break;
      }
      const node = this.descriptor(item as Node | null, field?.key ?? null, level);
      if (node === undefined) continue;
      if (children.has(node.label))
        file.report(`the descriptor '${path}${node.label}' is there twice: only one can match`, item as Node);
      children.set(node.label, node);
      if (node.label.endsWith(WILDCARD)) wildcards.push({ prefix: node.label.slice(0, -1), node });
    }
    return { children, wildcards };
  }

  private descriptor(item: Node | null, at: Node | null, level: Level): DescriptorNode | undefined {
    const { file } = this;
    const { depth } = level;
    const fields = file.fields(item, 'a descriptor', DESCRIPTOR_KEYS, at);
    if (fields === undefined) return undefined;
    const key = file.text(fields.get('key'));
    const value = file.text(fields.get('value'));
    if (key === '') file.report("a descriptor must have a 'key' that is not empty", item);
    const label = value === '' ? key : `${key}_${value}`;
    const isShared = file.flag(fields.get('share_threshold'));
    if (isShared && !label.endsWith(WILDCARD))
      file.report(
        `'share_threshold' needs a value that ends with a *, and '${label}' does not`,
        fields.get('share_threshold')?.key,
      );
    const path = `${level.path}${label}`;
    const rule = this.rule(fields, path, item);
    const hasValueInMetric = file.flag(fields.get('value_to_metric'));
    const namesValues = level.namesValues || hasValueInMetric;
    const below = this.descriptors(fields.get('descriptors'), { path: `${path}.`, depth: depth + 1, namesValues });
    return { rule, ...below, sharedValue: isShared ? value : undefined, hasValueInMetric, namesValues, label };
  }

  private rule(fields: ReadonlyMap<string, Field>, path: string, item: Node | null): Rule | undefined {
    const { file } = this;
    const isShadow = file.flag(fields.get('shadow_mode'));
    const isQuotaMode = file.flag(fields.get('quota_mode'));
    const isDetailed = file.flag(fields.get('detailed_metric'));
    const kind = this.kind(fields);
    const field = fields.get('rate_limit');
    if (field === undefined || field.value === null) {
      if (kind !== 'fixed') file.report(`'${kind}: true' needs a 'rate_limit' beside it`, fields.get(kind)?.key);
      return undefined;
    }
    const limit = file.fields(field.value, "a 'rate_limit'", LIMIT_KEYS, field.key);
    if (limit === undefined) return undefined;
    const requestsPerUnit = file.whole(limit.get('requests_per_unit'), MAXIMUM_UINT32);
    const isUnlimited = file.flag(limit.get('unlimited'));
    const unit = this.unit(limit.get('unit'), isUnlimited, field.key);
    if (isUnlimited && kind !== 'fixed') file.report(`a limit is unlimited or '${kind}', not both`, item);
    const name = file.text(limit.get('name'));
    const replaces = this.replaces(limit.get('replaces'), name);
    const limitName = unit === undefined ? '' : limitNameOf(path, unit);
    if (kind === 'exact' && unit !== undefined && requestsPerUnit === 0)
      file.report("an 'exact' limit must be at least 1: without 'exact', 0 denies every request", field.key);
    return { path, kind, requestsPerUnit, unit, name, replaces, isShadow, isQuotaMode, isDetailed, limitName };
  }

  private kind(fields: ReadonlyMap<string, Field>): RuleKind {
    const { file } = this;
    const isExact = file.flag(fields.get('exact'));
    const isSliding = file.flag(fields.get('sliding'));
    if (isExact && isSliding) file.report("a limit is 'exact' or 'sliding', not both", fields.get('sliding')?.key);
    return isExact ? 'exact' : isSliding ? 'sliding' : 'fixed';
  }

  private unit(field: Field | undefined, isUnlimited: boolean, at: Node): UnitName | undefined {
    const { file } = this;
    const word = file.text(field).toLowerCase();
    const unit = Object.hasOwn(units, word) ? (word as UnitName) : undefined;
    if (isUnlimited) {
      if (unit !== undefined) file.report("an unlimited limit has no 'unit'", field?.key);
      return undefined;
    }
    if (unit === undefined)
      file.report(`'${word}' is not a unit: there are ${Object.keys(units).join(', ')}`, field?.value ?? at);
    return unit;
  }

  private replaces(field: Field | undefined, own: string): readonly string[] {
    const { file } = this;
    return file.list(field).map((item) => {
      const entry = file.fields(item, "an entry of 'replaces'", REPLACES_KEYS, field?.key ?? null);
      const name = file.text(entry?.get('name'));
      if (entry !== undefined && name === '') file.report("an entry of 'replaces' has no name", item as Node);
      if (name !== '' && name === own) file.report(`'${name}' cannot replace itself`, item as Node);
      return name;
    });
  }
}

/** A list of descriptors in a file. */
interface Level {
  /** Up to the list, with a dot at the end. */
  readonly path: string;
  readonly depth: number;
  readonly namesValues: boolean;
}

type Children = Pick<DescriptorNode, 'children' | 'wildcards'>;

const LEAF: DescriptorNode = {
  rule: undefined,
  children: new Map(),
  wildcards: [],
  sharedValue: undefined,
  hasValueInMetric: false,
  namesValues: false,
  label: '',
};
