import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');

/** The rows of the map: a folder, and where to start reading in it. */
const rows = [...text.matchAll(/^\| `([\w/]+)` \| .* \|(.*)\|$/gm)].map(([, folder = '', files = '']) => ({
  folder,
  files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
}));
const packages = rows.map(({ folder }) => folder).filter((folder) => folder.startsWith('packages/'));

/** The names below a title, in the first column of its block. */
function namesBelow(title: string): string[] {
  const block = text.slice(text.indexOf(title)).split('```')[1] ?? '';
  return [...block.matchAll(/^(\S.*?) {2,}/gm)].flatMap(([, part = '']) => part.split(', '));
}

const isThere = (path: string) => statSync(join(root, path), { throwIfNoEntry: false }) !== undefined;

/** A longer file holds more than one thought: a part with a noun of its own belongs in a file of its own. */
const MAXIMUM_LINES = 400;

describe('the map of the source', () => {
  test('names folders and files that are there', () => {
    const missing = rows.flatMap(({ folder, files }) => [
      ...[folder].filter((path) => !isThere(path)),
      ...files.map((file) => join(folder, file)).filter((path) => !isThere(path) && !isThere(inSource(path, folder))),
    ]);
    expect(missing).toEqual([]);
  });

  test('leads each journey through files that are there', () => {
    const journeys = text.slice(text.indexOf('## Nine journeys'), text.indexOf('## Threads'));
    const files = [...journeys.matchAll(/`(packages\/[^`]+)`/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(60);
    expect(files.filter((file) => !isThere(file))).toEqual([]);
  });

  test('leaves no package out', () => {
    const there = readdirSync(join(root, 'packages')).map((name) => join('packages', name));
    expect(packages.toSorted()).toEqual(there.sort());
  });

  test.each([
    ['Inside the engine', 'packages/engine/src'],
    ['Inside resp', 'packages/resp/src'],
    ['Inside the server', 'packages/server/src'],
  ])('%s: all there is, but for tests, and nothing else', (title, folder) => {
    const there = readdirSync(join(root, folder))
      .filter((name) => !name.endsWith('.test.ts') && name !== 'index.ts')
      .map((name) => basename(name, '.ts'));
    expect(namesBelow(title).sort()).toEqual(there.sort());
  });

  test('is in the order of imports: between packages they point up, never down', () => {
    const names = packages.map((folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).name);
    const wrong = packages.flatMap((folder, place) => {
      const below = names.slice(place + 1);
      return sourcesOf(folder).flatMap((file) => {
        const imported = [...readFileSync(file, 'utf8').matchAll(/ from '((?:@quotadb\/)?[\w-]+)/g)];
        return imported.filter(([, name = '']) => below.includes(name)).map(([, name]) => `${file} imports ${name}`);
      });
    });
    expect(wrong).toEqual([]);
  });

  test.each(packages)('the folders of %s import one way: no circle, also not of types', (folder) => {
    expect(circlesOf(folderImports(folder))).toEqual([]);
  });

  test.each(packages)('the files of %s are short: none but tests has more than 400 lines', (folder) => {
    const long = sourcesOf(folder)
      .filter((file) => !/\.test\.tsx?$/.test(file) && lineCount(file) > MAXIMUM_LINES)
      .map((file) => file.slice(root.length));
    expect(long).toEqual([]);
  });
});

/** As `wc -l` counts them. */
function lineCount(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1;
}

function inSource(path: string, folder: string): string {
  return path.replace(folder, join(folder, 'src'));
}

/** Source files with their paths; the dashboard has a second folder of them. */
function sourcesOf(folder: string): string[] {
  return ['src', 'page']
    .map((name) => join(root, folder, name))
    .filter((source) => statSync(source, { throwIfNoEntry: false }) !== undefined)
    .flatMap((source) =>
      readdirSync(source, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.tsx?$/.test(file))
        .map((file) => join(source, file)),
    );
}

/** The folders that each folder imports from, without tests and what only they share. */
function folderImports(folder: string): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const file of sourcesOf(folder).filter((path) => !/\.test\.tsx?$|\/testing\//.test(path))) {
    const own = dirname(file);
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/\bfrom\s+'(\.[^']+)'/g)) {
      const other = dirname(normalize(join(own, target)));
      if (other !== own) imports.set(own, (imports.get(own) ?? new Set()).add(other));
    }
  }
  return imports;
}

/** Folders from which imports lead back to themselves, with the way. */
function circlesOf(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (folder: string, way: readonly string[]): void => {
    const start = way.indexOf(folder);
    if (start !== -1) circles.push([...way.slice(start), folder].map((path) => path.slice(root.length)).join(' → '));
    if (start !== -1 || done.has(folder)) return;
    for (const next of imports.get(folder) ?? []) walk(next, [...way, folder]);
    done.add(folder);
  };
  for (const folder of imports.keys()) walk(folder, []);
  return circles;
}
