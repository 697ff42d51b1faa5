import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
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
  return [...block.matchAll(/^(\S.*?) {2,}/gm)].flatMap(([, part = '']) => part.split(/, | → /));
}

const isThere = (path: string) => statSync(join(root, path), { throwIfNoEntry: false }) !== undefined;

describe('the map of the source', () => {
  test('names folders and files that are there', () => {
    const missing = rows.flatMap(({ folder, files }) => [
      ...[folder].filter((path) => !isThere(path)),
      ...files.map((file) => join(folder, file)).filter((path) => !isThere(path) && !isThere(inSource(path, folder))),
    ]);
    expect(missing).toEqual([]);
  });

  test('leaves no package out', () => {
    const there = readdirSync(join(root, 'packages')).map((name) => join('packages', name));
    expect(packages.toSorted()).toEqual(there.sort());
  });

  test.each([
    ['Inside the engine', 'packages/engine/src'],
    ['Inside the server', 'packages/server/src'],
  ])('%s: all there is, but for tests, and nothing else', (title, folder) => {
    const there = readdirSync(join(root, folder))
      .filter((name) => !name.endsWith('.test.ts') && name !== 'index.ts')
      .map((name) => basename(name, '.ts'));
    expect(namesBelow(title).sort()).toEqual(there.sort());
  });

  test('is in the order of imports: they point up, never down', () => {
    const names = packages.map((folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).name);
    const wrong = packages.flatMap((folder, place) => {
      const below = names.slice(place + 1);
      return sourcesOf(folder).flatMap((file) => {
        const imported = [...readFileSync(file, 'utf8').matchAll(/ from '((?:@quotadb\/)?[\w-]+)/g)];
        return imported.filter(([, name]) => below.includes(name)).map(([, name]) => `${file} imports ${name}`);
      });
    });
    expect(wrong).toEqual([]);
  });
});

function inSource(path: string, folder: string): string {
  return path.replace(folder, join(folder, 'src'));
}

function sourcesOf(folder: string): string[] {
  const source = join(root, folder, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /\.tsx?$/.test(file)).map((file) => join(source, file));
}
