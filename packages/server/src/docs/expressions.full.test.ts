import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { parseAst } from 'vite';
import { afterAll, describe, expect, test } from 'vitest';

/**
 * No regular expression of a program that is shipped takes more than linear time: most of them look at what strangers
 * send, on the thread that serves everybody, and the others may one day. Each is run on long texts that are made from
 * short ones that it matches, by repeating a piece and spoiling the end: that is how such expressions are attacked.
 */
const packages = fileURLToPath(new URL('../../../', import.meta.url));
const attacker = new URL('../../dist/docs/testing/attack-expressions.js', import.meta.url);

/** What runs on a developer's machine only, on its own files. */
const TOOLS = ['bench/', 'simulator/', 'server/dist/docs/', 'server/dist/differential/', 'server/dist/containers/'];

/** An attack takes a tenth of a second; on a busy machine, a few. */
const DEADLINE_MS = 60_000;

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

/** Bundles have the same code again, and that of other projects. */
function shippedFiles(): string[] {
  return readdirSync(packages)
    .flatMap((name) => {
      const built = join(packages, name, 'dist');
      return readdirSync(built, { recursive: true, encoding: 'utf8' }).map((file) => join(built, file));
    })
    .filter((file) => file.endsWith('.js') && !file.endsWith('.test.js') && !/\/(?:testing|assets|bundle)\//.test(file))
    .filter((file) => !TOOLS.some((folder) => relative(packages, file).startsWith(folder)));
}

let worker: Worker | undefined;
afterAll(() => worker?.terminate());

/** Also of one whose attack does not end. */
async function isSlow(expression: RegExp): Promise<boolean> {
  worker ??= new Worker(attacker);
  worker.postMessage(expression);
  try {
    const [slow] = await once(worker, 'message', { signal: AbortSignal.timeout(DEADLINE_MS) });
    return slow;
  } catch {
    await worker.terminate();
    worker = undefined;
    return true;
  }
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

  test('that are known to be slow are noticed', async () => {
    expect(await isSlow(/0+$/)).toBe(true);
    expect(await isSlow(/"(?:[^"\\]|\\.)*"/g)).toBe(true);
    expect(await isSlow(/linear/)).toBe(false);
  });

  test('take time in proportion to the text', async () => {
    const slow: string[] = [];
    for (const { expression, file } of found.values())
      if (await isSlow(expression)) slow.push(`${file}: ${expression}`);
    expect(slow).toEqual([]);
  }, 600_000);
});
