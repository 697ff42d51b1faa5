import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Pages that people read to do something: not references, which are made from the program, and not decisions. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md') && !path.startsWith('decisions'))
  .filter((path) => !/^(commands|configuration|http|metrics|redis-differences|benchmarks)\.md$/.test(path));

/** A title, and a paragraph that says what it is. */
const OPENING_LINES = 12;

test.each(pages)('docs/%s begins with something to do: a command or code before anything else is explained', (path) => {
  const lines = readFileSync(join(root, 'docs', path), 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith('```'));
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(OPENING_LINES);
});

test('the first screen of the README is a sentence, a table of four, three commands and a picture, in this order', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const [screen = ''] = text.split('\n**For** ');
  const [, sentence = '', ...rest] = screen.split('\n\n');
  expect(sentence.replaceAll('\n', ' ')).toMatch(
    /^A limit that is exact across regions .* your Redis client talks to it\.$/,
  );
  const table = rest[0]!.split('\n');
  expect(table).toHaveLength(6);
  expect(table.slice(2).map((row) => /^\| \*\*(.+?)\*\*/.exec(row)?.[1])).toEqual([
    'Redis with Lua',
    'a hosted limiter',
    "Envoy's rate limit service",
    'QuotaDB',
  ]);
  const commands = screen.match(/^(?:\$ )?(?:npm|npx) .*$/gm);
  expect(commands).toHaveLength(3);
  expect(screen.match(/^!\[[^\]]+\]\(docs\/images\/[\w.]+\)$/gm)).toHaveLength(1);
  expect(text.indexOf('\n## ')).toBe(text.indexOf('\n## Proof\n'));
});
