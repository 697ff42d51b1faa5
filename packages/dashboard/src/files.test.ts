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

test.each(['../package.json', 'assets/../index.html', 'assets/none.js', 'style.css', '', 'assets/x.map'])(
  'no other file is served: %s',
  (name) => {
    expect(readPageFile(name)).toBeUndefined();
  },
);
