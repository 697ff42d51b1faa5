import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readPageFile } from './files.js';

test('the page and the files that it names are served with their types', () => {
  const page = readPageFile('index.html');
  expect(page?.type).toBe('text/html; charset=utf-8');
  const html = Buffer.from(page?.bytes ?? []).toString('utf8');
  const names = [...html.matchAll(/assets\/[\w.-]+\.(?:js|css)/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) expect(readPageFile(name)?.type, name).toMatch(/^text\/(?:javascript|css); charset=utf-8$/);
});

test('the whole page is small: a phone on a slow line has it in a second', () => {
  const html = Buffer.from(readPageFile('index.html')?.bytes ?? []).toString('utf8');
  const names = ['index.html', ...[...html.matchAll(/assets\/[\w.-]+\.(?:js|css)/g)].map(([name]) => name)];
  const sizes = names.map((name) => gzipSync(readPageFile(name)?.bytes ?? new Uint8Array()).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(64 * 1024);
  expect(html).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
});

test.each(['../package.json', 'assets/../index.html', 'assets/none.js', 'style.css', '', 'assets/x.map'])(
  'no other file is served: %s',
  (name) => {
    expect(readPageFile(name)).toBeUndefined();
  },
);
