import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  parseDocument,
  type YAMLMap,
} from 'yaml';

/** A mistake in a file, with the line that it is in. */
export interface Mistake {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

export function printMistake({ file, line, text }: Mistake): string {
  return `${file}:${line}: ${text}`;
}

/** More than anyone reads. */
const MAXIMUM_MISTAKES = 1000;
/** Merge keys may refer to mappings with merge keys; one that leads back to itself ends here. */
const MAXIMUM_MERGES = 16;

/** One YAML file: its nodes, read as the types that a configuration has, and the mistakes that were found. */
export class YamlFile {
  readonly mistakes: Mistake[] = [];
  readonly root: ParsedNode | null;
  private readonly name: string;
  private readonly lines = new LineCounter();
  private readonly document: Document.Parsed;
  /** To look an anchor up is to walk the whole file. */
  private readonly resolved = new Map<Node, Node>();

  constructor(name: string, text: string) {
    this.name = name;
    this.document = parseDocument(text, { lineCounter: this.lines, uniqueKeys: true, prettyErrors: false });
    for (const { message, pos } of this.document.errors) this.report(message, pos[0]);
    this.root = this.document.contents;
  }

  /** The line of a mistake is that of the node, or of an offset in the file. */
  report(text: string, at: Node | number | null | undefined): void {
    if (this.mistakes.length === MAXIMUM_MISTAKES) return;
    const offset = typeof at === 'number' ? at : (at?.range?.[0] ?? 0);
    this.mistakes.push({ file: this.name, line: Math.max(1, this.lines.linePos(offset).line), text });
  }

  /** The fields of a mapping by name; those that are not allowed are mistakes. Undefined where it is no mapping. */
  fields(given: unknown, what: string, allowed: ReadonlySet<string>, at: Node | null): Map<string, Field> | undefined {
    const node = this.resolve(given as Node | null);
    if (!isMap(node)) {
      this.report(`${what} must be a mapping of names to values`, (given as Node | null) ?? at);
      return undefined;
    }
    const fields = new Map<string, Field>();
    for (const { key, value } of this.pairs(node as YAMLMap<Node, Node | null>, 0)) {
      const name = isScalar(key) ? String(key.source ?? key.value) : '';
      if (!isScalar(key) || typeof key.value !== 'string') this.report(`the key '${name}' is not a text`, key);
      else if (!allowed.has(name))
        this.report(`the key '${name}' is not known in ${what}: there are ${[...allowed].join(', ')}`, key);
      else fields.set(name, { key, value: this.resolve(value) });
    }
    return fields;
  }

  /** The items of a list; none where the field is not there or empty. */
  list(field: Field | undefined): readonly unknown[] {
    if (field === undefined || isNull(field.value)) return [];
    if (isSeq(field.value)) return field.value.items;
    this.report(`'${nameOf(field)}' must be a list`, field.value ?? field.key);
    return [];
  }

  /** As it is written: `404` and `true` are texts too where one is expected, as in Go. */
  text(field: Field | undefined): string {
    if (field === undefined || isNull(field.value)) return '';
    const { value } = field;
    if (isScalar(value)) return typeof value.value === 'string' ? value.value : String(value.source ?? value.value);
    this.report(`'${nameOf(field)}' must be a text`, value ?? field.key);
    return '';
  }

  flag(field: Field | undefined): boolean {
    if (field === undefined || isNull(field.value)) return false;
    const word = isScalar(field.value) ? String(field.value.source ?? field.value.value).toLowerCase() : '';
    if (TRUE.has(word)) return true;
    if (!FALSE.has(word)) this.report(`'${nameOf(field)}' must be true or false`, field.value ?? field.key);
    return false;
  }

  whole(field: Field | undefined, maximum: number): number {
    if (field === undefined || isNull(field.value)) return 0;
    const number = isScalar(field.value) ? field.value.value : undefined;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 && number <= maximum) return number;
    const given = isScalar(field.value) ? `, not ${String(field.value.source ?? field.value.value)}` : '';
    this.report(`'${nameOf(field)}' must be a whole number from 0 to ${maximum}${given}`, field.value ?? field.key);
    return 0;
  }

  /** The node that an alias (`*name`) stands for. A reader bounds the levels and items that it visits. */
  private resolve(node: Node | null): Node | null {
    if (!isAlias(node)) return node;
    const known = this.resolved.get(node);
    if (known !== undefined) return known;
    const found = node.resolve(this.document);
    if (found !== undefined) this.resolved.set(node, found);
    if (found === undefined) this.report(`there is no anchor '&${node.source}' before this alias`, node);
    return found ?? null;
  }

  /** The pairs of a mapping behind those of its merge keys (`<<`), which they outdo. */
  private pairs(map: YAMLMap<Node, Node | null>, merges: number): readonly Pair<Node, Node | null>[] {
    const isMerge = ({ key }: Pair<Node, Node | null>) => isScalar(key) && key.source === '<<';
    const merged = map.items.filter(isMerge).flatMap(({ key, value }) => {
      const source = this.resolve(value);
      const maps = (isSeq(source) ? source.items : [source]).map((item) => this.resolve(item as Node | null));
      if (maps.every((item) => isMap(item)) && merges < MAXIMUM_MERGES)
        return maps.reverse().flatMap((item) => this.pairs(item as YAMLMap<Node, Node | null>, merges + 1));
      this.report('a merge key (<<) needs an alias of a mapping, or a list of them', key);
      return [];
    });
    return [...merged, ...map.items.filter((pair) => !isMerge(pair))];
  }
}

/** As YAML 1.1 has them, which the reference reads. */
const TRUE = new Set(['true', 'yes', 'on', 'y']);
const FALSE = new Set(['false', 'no', 'off', 'n']);

export interface Field {
  readonly key: Node;
  readonly value: Node | null;
}

function nameOf({ key }: Field): string {
  return isScalar(key) ? String(key.value) : '';
}

function isNull(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null);
}
