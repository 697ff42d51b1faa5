import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const domain = dirname(fileURLToPath(import.meta.url));
const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name));
}

test('the domain imports nothing but the domain: no adapter, no library, no part of Node.js', () => {
  const sources = sourcesBelow(domain);
  expect(sources.length).toBeGreaterThan(10);
  const strangers = sources.flatMap((source) =>
    [...readFileSync(source, 'utf8').matchAll(IMPORT)]
      .map(([, target]) => target!)
      .filter((target) => !target.startsWith('.') || relative(domain, join(dirname(source), target)).startsWith('..'))
      .map((target) => `${relative(domain, source)} imports ${target}`),
  );
  expect(strangers).toEqual([]);
});
