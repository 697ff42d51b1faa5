import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { parseAst } from 'vite';
import { describe, expect, test } from 'vitest';

/**
 * No regular expression of a program that is shipped takes more than linear time: most of them look at what strangers
 * send, on the thread that serves everybody, and the others may one day. Each is run on long texts that are made from
 * short ones that it matches, by repeating a piece and spoiling the end: that is how such expressions are attacked.
 */
const packages = fileURLToPath(new URL('../../../', import.meta.url));

/** What runs on a developer's machine only, on its own files. */
const TOOLS = ['bench/', 'simulator/', 'server/dist/docs/', 'server/dist/differential/', 'server/dist/containers/'];

const LONG_TEXT = 20_000;
/** Linear ones take less than a millisecond, quadratic ones more than a tenth of a second. */
const PATIENCE_MS = 50;
const EXAMPLES = 4;
/** Pieces of an example that are repeated: this long at most, from its beginning, up to this place. */
const MAX_PIECE = 3;
const MAX_PLACE = 24;

interface Node {
  readonly [name: string]: unknown;
}

function* expressionsIn(node: unknown): Generator<RegExp> {
  if (Array.isArray(node)) for (const part of node) yield* expressionsIn(part);
  if (typeof node !== 'object' || node === null || Array.isArray(node) || node instanceof RegExp) return;
  const { type, regex } = node as { type?: string; regex?: { pattern: string; flags: string } };
  if (type === 'Literal' && regex !== undefined) yield new RegExp(regex.pattern, regex.flags);
  for (const part of Object.values(node as Node)) yield* expressionsIn(part);
}

function shippedFiles(): string[] {
  return readdirSync(packages)
    .flatMap((name) => {
      const built = join(packages, name, 'dist');
      return readdirSync(built, { recursive: true, encoding: 'utf8' }).map((file) => join(built, file));
    })
    .filter((file) => file.endsWith('.js') && !file.endsWith('.test.js') && !/\/(?:testing|assets)\//.test(file))
    .filter((file) => !TOOLS.some((folder) => relative(packages, file).startsWith(folder)));
}

function* attacksOn(expression: RegExp): Generator<string> {
  // fast-check makes examples of plain expressions only; those without word boundaries will do.
  const plain = new RegExp(expression.source.replaceAll('\\b', ''), expression.flags.replace(/[giy]/g, ''));
  const matching = fc.stringMatching(plain);
  for (const example of new Set(fc.sample(matching, { numRuns: EXAMPLES, seed: 1 }))) {
    for (let start = 0; start < Math.min(example.length, MAX_PLACE); start++) {
      for (let end = start + 1; end <= Math.min(start + MAX_PIECE, example.length); end++) {
        const repeated = example.slice(start, end).repeat(LONG_TEXT / (end - start));
        yield `${example.slice(0, start)}${repeated}\u0001`;
        yield `${example.slice(0, start)}${repeated}${example.slice(end)}\n\u0001`;
      }
    }
  }
}

function isSlow(expression: RegExp): boolean {
  for (const text of attacksOn(expression)) {
    // Twice, because collected garbage and compilation count for this process too.
    if (cpuMs(expression, text) > PATIENCE_MS && cpuMs(expression, text) > PATIENCE_MS) return true;
  }
  return false;
}

function cpuMs(expression: RegExp, text: string): number {
  const before = process.cpuUsage();
  expression.lastIndex = 0;
  text.replace(expression, '');
  return process.cpuUsage(before).user / 1000;
}

describe('regular expressions', () => {
  const found = new Map<string, { expression: RegExp; file: string }>();
  for (const file of shippedFiles()) {
    for (const expression of expressionsIn(parseAst(readFileSync(file, 'utf8')))) {
      found.set(String(expression), { expression, file: relative(packages, file) });
    }
  }

  test('are found', () => {
    expect(found.size).toBeGreaterThan(60);
  });

  test('that are known to be slow are noticed', () => {
    expect(isSlow(/0+$/)).toBe(true);
    expect(isSlow(/"(?:[^"\\]|\\.)*"/g)).toBe(true);
  });

  test('take time in proportion to the text', () => {
    const slow = [...found.values()].filter(({ expression }) => isSlow(expression));
    expect(slow.map(({ expression, file }) => `${file}: ${expression}`)).toEqual([]);
  });
});
