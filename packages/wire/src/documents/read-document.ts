import { type Document, isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { z } from 'zod';
import { DocumentError, type Mistake, type Path, quote } from './mistakes.js';

const MAXIMUM_ALIASES = 100;

/** The line of the thing at a path, in the text that it was read from. */
export type LineOf = (path: Path) => number | undefined;

/** YAML, or JSON, which is YAML too, as plain values. Throws a DocumentError with all mistakes and their lines. */
export function readDocument(
  text: string,
  what: string,
  maximumBytes: number,
): { readonly value: unknown; readonly lineOf: LineOf } {
  if (Buffer.byteLength(text) > maximumBytes)
    throw new DocumentError([{ path: [], message: `${what} has at most ${maximumBytes} bytes` }]);
  const lines = new LineCounter();
  const document = parseText(text, lines);
  if (document.errors.length > 0)
    throw new DocumentError(
      document.errors.map(({ message, pos }) => ({ path: [], message, line: lines.linePos(pos[0]).line })),
    );
  return { value: contentOf(document), lineOf: (path) => lines.linePos(placeOf(document, path)).line };
}

/** Checks values against a schema. Throws a DocumentError with all mistakes. */
export function checkDocument<Form>(schema: z.ZodType<Form>, given: unknown, lineOf: LineOf): Form {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.flatMap((issue): Mistake[] => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: [...path, key], message: `${quote(key)} is no field of it` }));
    const value = valueAt(given, path);
    const message = value === undefined ? 'it is missing' : `${issue.message}, not ${quote(value)}`;
    return [{ path, message }];
  });
  throw new DocumentError(mistakes.map((mistake) => ({ ...mistake, line: lineOf(mistake.path) })));
}

/** The parser throws where a text nests deeper than its stack. */
function parseText(text: string, lineCounter: LineCounter): Document {
  try {
    return parseDocument(text, { lineCounter, uniqueKeys: true, prettyErrors: false });
  } catch (error) {
    throw new DocumentError([{ path: [], message: `the text cannot be read: ${(error as Error).message}` }]);
  }
}

function contentOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: MAXIMUM_ALIASES });
  } catch (error) {
    throw new DocumentError([{ path: [], message: (error as Error).message }]);
  }
}

function valueAt(given: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<string | number, unknown> | undefined)?.[part], given);
}

/** The offset in the text of the innermost thing on the path that is there. */
function placeOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = (node as Node | null)?.range?.[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (key as { value?: unknown }).value === part);
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[part as number];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
