import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Every page that people read. */
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'COMPATIBILITY.md', 'SECURITY.md'],
  'examples/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];

interface Link {
  readonly text: string;
  readonly target: string;
}

/** Links of a page, without those inside code. */
function linksOf(page: string): readonly Link[] {
  const prose = readPage(page)
    .replaceAll(/^```.*?^```/gms, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]]/g, ''));
  return [...prose.matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, text = '', target = '']) => ({ text, target }));
}

function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** As GitHub makes them from headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = readPage(page).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Why a link leads nowhere; undefined where it leads somewhere. */
function troubleOf(page: string, { text, target }: Link): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const found = path === '' ? join(root, page) : resolve(root, dirname(page), path);
  if (relative(root, found).startsWith('..')) return `${target} is outside of the repository`;
  const kind = statSync(found, { throwIfNoEntry: false });
  if (kind === undefined) return `there is no ${target}`;
  if (anchor !== undefined && found.endsWith('.md') && !anchorsOf(relative(root, found)).has(anchor))
    return `${target} names no heading`;
  if (found.endsWith('.test.ts') && !hasTest(readFileSync(found, 'utf8'), text))
    return `${target} has no test "${text}"`;
  return undefined;
}

/** Whether a file has a test of this name, whichever quotes it is written in. */
function hasTest(source: string, name: string): boolean {
  return ["'", '`', '"'].some((quote) => source.includes(`${quote}${name}${quote}`));
}

describe('the pages', () => {
  test.each(pages)('every link of %s leads somewhere, and every test it names is there', (page) => {
    const troubles = linksOf(page).flatMap((link) => troubleOf(page, link) ?? []);
    expect(troubles).toEqual([]);
  });

  test('every page can be reached from the index, in as many steps as it takes', () => {
    const reached = new Set(['docs/README.md']);
    for (const page of reached) {
      for (const { target } of linksOf(page)) {
        const path = relative(root, resolve(root, dirname(page), target.split('#')[0] ?? ''));
        // A link to a folder shows its files.
        for (const other of pages) if (other === path || dirname(other) === path) reached.add(other);
      }
    }
    expect(pages.filter((page) => page.startsWith('docs/') && !reached.has(page))).toEqual([]);
  });

  test('every row of the table of failures names the test that proves it', () => {
    const rows = readPage('docs/consistency.md')
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| what fails') && !line.startsWith('| promise'))
      .filter((line) => !line.startsWith('| **') && !line.startsWith('| |'));
    expect(rows.length).toBeGreaterThan(50);
    for (const row of rows) expect(row).toMatch(/\]\(\.\.\/packages\/\S+\.test\.ts\)[^|]*\|$/);
  });

  test('decisions are numbered without holes, and the index has a row for each', () => {
    const found = pages.filter((page) => /^docs\/decisions\/\d/.test(page)).sort();
    const numbers = found.map((page) => Number(page.slice('docs/decisions/'.length).split('-')[0]));
    expect(numbers).toEqual(found.map((_, index) => index + 1));
    const rows = linksOf('docs/decisions/README.md').map(({ target }) => join('docs/decisions', target));
    expect(rows).toEqual(found);
  });

  test('a link that leads nowhere is found', () => {
    const trouble = (text: string, target: string) => troubleOf('docs/start.md', { text, target });
    expect(trouble('x', 'nothing.md')).toBe('there is no nothing.md');
    expect(trouble('x', 'counts.md#nothing')).toBe('counts.md#nothing names no heading');
    expect(trouble('x', '../packages/engine/src/keys/reset.test.ts')).toMatch(/has no test "x"/);
    expect(trouble('x', '../../elsewhere')).toMatch(/outside/);
    expect(trouble('x', 'counts.md#what-fails--what-happens')).toBeUndefined();
  });
});
