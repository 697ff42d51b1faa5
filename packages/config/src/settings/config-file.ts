import { nearestOf } from '@quotadb/wire';
import { isMap, isScalar, LineCounter, type Pair, parseDocument, Scalar } from 'yaml';
import { settingNames, settingOf } from './table.js';

/** A value, and the place that a mistake in it is reported at. */
export interface Given {
  readonly value: unknown;
  readonly from: string;
}

const SEVERAL_DOCUMENTS = 'a second document begins here: all settings are in one, without "---" between them';
const NO_VALUE = /^(?:null|~|)$/i;

/**
 * The settings of a config file: YAML, or JSON, which may have comments and commas at the end. Scalars come as the
 * texts that the file has, so that no parser changes a password of digits; null where nothing is written.
 */
export function readConfigFile(path: string, text: string, mistakes: string[]): Map<string, Given> {
  const values = new Map<string, Given>();
  const lines = new LineCounter();
  const at = (offset: number): string => `${path}:${lines.linePos(offset).line}`;
  // Names that are given twice are reported here, by name, beside all other mistakes.
  const options = { schema: 'failsafe', lineCounter: lines, prettyErrors: false, uniqueKeys: false } as const;
  const document = parseDocument(withoutComments(text), options);
  for (const { pos, code, message } of document.errors)
    mistakes.push(
      `${at(pos[0])}: ${code === 'MULTIPLE_DOCS' ? SEVERAL_DOCUMENTS : `neither YAML nor JSON: ${message}`}`,
    );
  if (document.errors.length > 0) return values;
  if (!isMap(document.contents)) {
    mistakes.push(`${path}: must hold settings by their names, such as "max-memory: 512mb"`);
    return values;
  }
  const lineOf = new Map<string, number>();
  for (const pair of document.contents.items) {
    const key = isScalar(pair.key) ? String(pair.key.value) : '';
    const from = `${at(offsetOf(pair))}: "${key}"`;
    const first = lineOf.get(key);
    if (first !== undefined) {
      mistakes.push(`${from}: it is in line ${first} already: give it once`);
      continue;
    }
    lineOf.set(key, lines.linePos(offsetOf(pair)).line);
    if (!known.has(key)) {
      mistakes.push(`${from}: no such setting${suggestion(key)}`);
      continue;
    }
    try {
      values.set(key, { value: readNode(pair, document), from });
    } catch (error) {
      // Aliases that stand for more than the parser is willing to write out.
      mistakes.push(`${from}: ${(error as Error).message}`);
    }
  }
  return values;
}

const known: ReadonlySet<string> = new Set(settingNames.map((name) => settingOf(name).flag));

function suggestion(key: string): string {
  const nearest = nearestOf(key, known);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

function readNode({ value }: Pair, document: ReturnType<typeof parseDocument>): unknown {
  const isNothing = isScalar(value) && value.type === Scalar.PLAIN && NO_VALUE.test(String(value.value));
  return isNothing || value === null ? null : (value as Scalar).toJS(document);
}

function offsetOf({ key }: Pair): number {
  return (key as Scalar).range?.[0] ?? 0;
}

/** Comments of JSON become blanks, so that every line stays where it is; what looks like one in a string stays. */
function withoutComments(text: string): string {
  if (!/^\s*(?:\{|\/[/*])/.test(text)) return text;
  let result = '';
  for (let at = 0; at < text.length; ) {
    const end = endOfPart(text, at);
    const part = text.slice(at, end);
    result += part.startsWith('//') || part.startsWith('/*') ? part.replace(/[^\n]/g, ' ') : part;
    at = end;
  }
  return result;
}

/** The end of the string, the comment or the character that begins here. */
function endOfPart(text: string, start: number): number {
  const endAt = (mark: string, length: number) => {
    const found = text.indexOf(mark, start + 2);
    return found === -1 ? text.length : found + length;
  };
  if (text.startsWith('//', start)) return endAt('\n', 0);
  if (text.startsWith('/*', start)) return endAt('*/', 2);
  if (text[start] !== '"') return start + 1;
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
